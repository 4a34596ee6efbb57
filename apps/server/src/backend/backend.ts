import { availableParallelism } from "node:os";
import * as protocol from "@iggy/protocol";
import { type Checksums, type Io, LibuvIo } from "@iggy/storage";
import {
  type Addon,
  type BlockSource,
  type Hasher,
  isNativeHash,
  isNativeSiv,
  loadAddon,
  NativeBatchSiv,
  nativeHasher,
  portableHasher,
  probe,
  Ring,
  Slab,
  SlabAllocator,
  UringIo,
} from "@iggy/uring";
import { type BatchCipherFactory, nativeCipher, portableCipher } from "../encryption/index.js";
import { BackendRefused } from "./backend-refused.js";

/** How this thread reaches disk and network. */
export interface Backend {
  readonly kind: "uring" | "libuv";
  readonly io: Io;
  readonly hasher: Hasher;
  readonly checksums: Checksums;
  readonly makeCipher: BatchCipherFactory;
  /** The native addon, where there is one. */
  readonly addon: Addon | undefined;
  /** Present with io_uring. */
  readonly ring: RingParts | undefined;
  /** In one line: what is used, and what would allow io_uring where it is not. */
  readonly description: string;
  /** Gives ring and memory back. Everything that uses them is closed. */
  close(): Promise<void>;
}

/** A ring with the memory that it works in. */
export interface RingParts {
  readonly ring: Ring;
  readonly addon: Addon;
  readonly blocks: BlockSource;
  /** The memory of all threads of the process, of which `blocks` gives a part. */
  readonly slab: Slab;
}

export type BackendChoice = "auto" | "uring" | "libuv";

/** Address space of each thread that allocates; memory is taken only where it is used. */
const REGION_BYTES = 1024 * 1024 * 1024;
/** Servers and shards of one process, each with a region of its own. */
const REGIONS_MIN = 16;
const REGIONS_MAX = 64;

/**
 * Opens io_uring where it may be used and is not unwanted, else libuv. Throws `BackendRefused`, with the reason and the
 * remedy, when io_uring is asked for and not to be had.
 */
export function openBackend(choice: BackendChoice, memoryBytes: number): Backend {
  const loaded = loadAddon();
  const code = machineCode(loaded.addon);
  if (choice === "libuv") return libuv(code, "disk and network through libuv, as configured");
  const { ring: isAvailable, reason, remedy } = probe(() => loaded);
  if (loaded.addon === undefined || !isAvailable) return withoutRing(choice, code, reason, remedy);
  const opened = openRing(loaded.addon, memoryBytes);
  if (typeof opened === "string") return withoutRing(choice, code, opened, "run fewer servers in this process");
  return {
    kind: "uring",
    io: new UringIo(opened.ring, new LibuvIo()),
    ...code,
    ring: opened,
    description: `disk and network through io_uring, hashes by ${code.hasher.name}`,
    close: async () => {
      await opened.ring.close();
      opened.blocks.close();
    },
  };
}

function withoutRing(choice: BackendChoice, code: MachineCode, reason: string, remedy: string): Backend {
  if (choice === "uring") throw new BackendRefused(reason, remedy);
  return libuv(code, `disk and network through libuv: ${reason}; to use io_uring, ${remedy}`);
}

function libuv(code: MachineCode, description: string): Backend {
  return {
    kind: "libuv",
    io: new LibuvIo(),
    ...code,
    ring: undefined,
    description,
    close: () => Promise.resolve(),
  };
}

function openRing(addon: Addon, memoryBytes: number): (RingParts & { readonly blocks: SlabAllocator }) | string {
  const regions = Math.min(REGIONS_MAX, Math.max(REGIONS_MIN, 2 * availableParallelism()));
  const slab = Slab.map(addon, { bytes: regions * REGION_BYTES, regions });
  const blocks = SlabAllocator.inFreeRegion(slab, { budgetBytes: memoryBytes });
  if (blocks === undefined) return `all ${regions} regions of this process's memory are taken`;
  return { ring: Ring.open({ addon, slab, blocks }), addon, blocks, slab };
}

/** What native code does where there is any. */
type MachineCode = Pick<Backend, "addon" | "hasher" | "checksums" | "makeCipher">;

function machineCode(addon: Addon | undefined): MachineCode {
  const hasher = hasherOf(addon);
  return { addon, hasher, checksums: checksumsOf(hasher), makeCipher: cipherOf(addon) };
}

function cipherOf(addon: object | undefined): BatchCipherFactory {
  return addon !== undefined && isNativeSiv(addon) && addon.sivAvailable
    ? nativeCipher((key) => new NativeBatchSiv(addon, key))
    : portableCipher;
}

function hasherOf(addon: object | undefined): Hasher {
  return addon !== undefined && isNativeHash(addon)
    ? nativeHasher(addon, protocol)
    : portableHasher(protocol, protocol.hashBackend);
}

/** What the storage hashes with. */
function checksumsOf(hasher: Hasher): Checksums {
  return {
    hashInto: (out, bytes, offset, length) => hasher.xxh3_64Into(out, bytes, offset, length),
    isIntact: (record) => {
      try {
        return hasher.verifyBatch(record, 0, record.length) === record.length;
      } catch (error) {
        if (error instanceof protocol.WireError) return false;
        throw error;
      }
    },
  };
}
