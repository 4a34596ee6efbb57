import { checked, struct, u128, u64, type ValueOf } from "../codec/index.js";

const layout = struct("consumer group owner", { clientId: u128, session: u64, generation: u64 });

/**
 * Owner of a group's offsets in one partition. Client and session are both zero for a fence without an owner that keeps
 * its generation, or both non-zero; `generation` is the metadata op that decided it.
 *
 * `[client_id u128][session u64][generation u64]`, 32 bytes
 */
export const consumerGroupOwner = checked(
  layout,
  (owner) =>
    (owner.clientId === 0n) === (owner.session === 0n)
      ? undefined
      : "client id and session of a group owner must both be zero or both be set",
  (s) => {
    const owner = layout.sample(s);
    const owned = owner.clientId !== 0n && owner.session !== 0n;
    return owned ? owner : { ...owner, clientId: 0n, session: 0n };
  },
);
export type ConsumerGroupOwner = ValueOf<typeof consumerGroupOwner>;
