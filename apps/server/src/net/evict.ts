import { EvictionReason, HEADER_SIZE, PROTOCOL_VERSION, PROTOCOL_VERSION_MIN, writeEviction } from "@iggy/protocol";
import type { ReplyStream } from "./channel.js";
import type { Connection } from "./connection.js";
import type { RequestFrame } from "./request-frame.js";

/** Ends a request together with its connection, for a reason that clients map to an error. */
export function evict(request: RequestFrame, reason: number): void {
  request.evict(reason);
}

/** Ends a connection with a last frame that tells why. */
export function evictConnection(connection: Connection, client: bigint, reason: number, stream?: ReplyStream): void {
  const frame = new Uint8Array(HEADER_SIZE);
  const window =
    reason === EvictionReason.IncompatibleProtocol
      ? { serverProtocolVersion: PROTOCOL_VERSION, serverProtocolVersionMin: PROTOCOL_VERSION_MIN }
      : {};
  writeEviction(frame, 0, { client, reason, ...window });
  connection.send([frame], [], stream);
  connection.end();
}
