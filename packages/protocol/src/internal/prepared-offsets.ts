import { exactly, struct, u64, type ValueOf } from "../codec/index.js";
import { deleteConsumerOffset } from "../commands/delete-consumer-offset.js";
import { storeConsumerOffset } from "../commands/store-consumer-offset.js";

// Offset writes as a partition's log holds them: the request, a group in it named by its number, and the generation of
// the owner that the write was checked against.

/** StoreConsumerOffset request · owner_generation u64 */
export const preparedStoreConsumerOffset = exactly(
  struct("prepared StoreConsumerOffset", { request: storeConsumerOffset.request, ownerGeneration: u64 }),
);
export type PreparedStoreConsumerOffset = ValueOf<typeof preparedStoreConsumerOffset>;

/** DeleteConsumerOffset request · owner_generation u64 */
export const preparedDeleteConsumerOffset = exactly(
  struct("prepared DeleteConsumerOffset", { request: deleteConsumerOffset.request, ownerGeneration: u64 }),
);
export type PreparedDeleteConsumerOffset = ValueOf<typeof preparedDeleteConsumerOffset>;
