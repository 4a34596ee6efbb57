import { type Codec, decode, Reader, WireError } from "../codec/index.js";
import { clientVersionInfo, type ClientVersionInfo } from "../primitives/index.js";
import {
  legacyLoginRegisterWithPat,
  type LegacyLoginRegisterWithPatRequest,
} from "./commands/login-register-with-pat.js";
import { legacyLoginRegister, type LegacyLoginRegisterRequest } from "./commands/login-register.js";
import { earlierProtocols } from "./versions.js";

/**
 * A login of 0.11 in both readings: the header does not tell a password from a token. A server tries the password first,
 * then the token; with neither the body is malformed, or under 0.11.1 of the other protocol of that number.
 */
export interface LegacyLogin {
  readonly versionInfo: ClientVersionInfo;
  readonly password: LegacyLoginRegisterRequest | null;
  readonly token: LegacyLoginRegisterWithPatRequest | null;
}

/** Reads the body of a 0.11 login. Throws a WireError when not even the version reads. */
export function decodeLegacyLogin(body: Uint8Array): LegacyLogin {
  const versionInfo = decode(clientVersionInfo, body);
  // Two protocols called themselves 0.11.1: the one with a bind secret never ends exactly where this one does.
  const mustFill = versionInfo.protocolVersion !== earlierProtocols.v0_11_0;
  return {
    versionInfo,
    password: tryDecode(legacyLoginRegister.request, body, mustFill),
    token: tryDecode(legacyLoginRegisterWithPat.request, body, mustFill),
  };
}

function tryDecode<T>(codec: Codec<T>, body: Uint8Array, mustFill: boolean): T | null {
  const reader = new Reader(body);
  try {
    const value = codec.read(reader);
    return mustFill && reader.remaining > 0 ? null : value;
  } catch (error) {
    if (error instanceof WireError) return null;
    throw error;
  }
}
