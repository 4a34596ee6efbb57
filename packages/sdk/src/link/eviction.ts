import { EvictionHeader, evictionErrorCode, evictionReasonName, PROTOCOL_VERSION, versionText } from "@iggy/protocol";
import { EvictionError, IncompatibleProtocolVersionError, type IggyError } from "../errors/index.js";

/** What an eviction frame says, as the error that the waiting calls get. */
export function evictionError(frame: Uint8Array): IggyError {
  const header = new EvictionHeader().at(frame);
  const { serverProtocolVersion: max, serverProtocolVersionMin: min } = header;
  const code = evictionErrorCode(header.reason, max, min);
  const reason = evictionReasonName(header.reason) ?? `reason ${String(header.reason)}`;
  if (code === 14003) {
    return new IncompatibleProtocolVersionError({
      client: versionText(PROTOCOL_VERSION),
      serverMin: versionText(min),
      serverMax: versionText(max),
    });
  }
  return new EvictionError(code, reason, `the server ended the connection: ${reason}`);
}
