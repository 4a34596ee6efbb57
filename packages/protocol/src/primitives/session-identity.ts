import { struct, u128, u64, type ValueOf } from "../codec/index.js";

/**
 * A logical session. `metadataWatermark` is the highest metadata commit that the client saw acknowledged: a node serves
 * the session only after it applied that one.
 *
 * `[client_id u128][session u64][metadata_watermark u64]`, 32 bytes
 */
export const sessionIdentity = struct("session identity", {
  clientId: u128,
  session: u64,
  metadataWatermark: u64,
});
export type SessionIdentity = ValueOf<typeof sessionIdentity>;
