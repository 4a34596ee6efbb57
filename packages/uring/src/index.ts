export { type Addon, type AddonPlace, loadAddon, type LoadedAddon, type SocketOption } from "./addon/index.js";
export { type FallbackIo, UringFile, UringIo } from "./files/index.js";
export {
  type Block,
  type BlockSource,
  HeapBlocks,
  type HeapBlocksOptions,
  Slab,
  SlabAllocator,
  type SlabAllocatorOptions,
  type SlabHandle,
  type SlabSize,
} from "./memory/index.js";
export {
  addressText,
  type ReceiveBuffer,
  RingListener,
  type RingListenerOptions,
  RingStream,
  type StreamHandler,
} from "./net/index.js";
export { probe, type Probe } from "./probe.js";
export {
  type Completion,
  type RareOperation,
  Ring,
  RingError,
  type RingOptions,
  type SystemError,
  type TurnHook,
} from "./ring/index.js";
export { pinThread, wake, Wakeup } from "./threads/index.js";
export {
  type BatchStamp,
  type Hasher,
  type HashStream,
  isNativeHash,
  nativeHasher,
  portableHasher,
  type PortableHashing,
} from "./hash/index.js";
export {
  AesGcmSiv,
  type Allocate,
  type FillRandom,
  isNativeSiv,
  javascriptSiv,
  NativeBatchSiv,
  nativeSivBackend,
  SIV_KEY_SIZE,
  SIV_NONCE_SIZE,
  SIV_OVERHEAD,
  SIV_TAG_SIZE,
  type SivBackend,
  sivBackend,
} from "./siv/index.js";
