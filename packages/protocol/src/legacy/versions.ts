import { packVersion, PROTOCOL_VERSION } from "../primitives/version.js";

/** Packed numbers of the protocols before 0.12.2. Only 0.11.0 was ever released in stable form. */
export const earlierProtocols = {
  v0_11_0: packVersion({ major: 0, minor: 11, patch: 0 }),
  v0_11_1: packVersion({ major: 0, minor: 11, patch: 1 }),
  v0_12_0: packVersion({ major: 0, minor: 12, patch: 0 }),
  v0_12_1: packVersion({ major: 0, minor: 12, patch: 1 }),
} as const;

/** Version that a server names to a 0.11 client in its login reply. */
export const LEGACY_PROTOCOL_VERSION = earlierProtocols.v0_11_0;

/** The protocol that a connection speaks, from its login to its logout. */
export type Dialect = "0.12.2" | "0.11";

/**
 * Dialect of a client's version; undefined for one that no server of this release serves. 0.11.1 counts as 0.11, but it
 * was two protocols: `decodeLegacyLogin` refuses the other one.
 */
export function dialectOf(packed: number): Dialect | undefined {
  if (packed === PROTOCOL_VERSION) return "0.12.2";
  return packed === earlierProtocols.v0_11_0 || packed === earlierProtocols.v0_11_1 ? "0.11" : undefined;
}

/** Whether a released 0.11.0 server admits a client: every patch of 0.11, nothing else. */
export function isAdmittedBy0110(packed: number): boolean {
  return packed >= earlierProtocols.v0_11_0 && packed >> 10 === earlierProtocols.v0_11_0 >> 10;
}
