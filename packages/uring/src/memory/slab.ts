import type { Addon } from "../addon/addon.js";
import { ControlWords, REGIONS_MAX } from "./control-words.js";
import { UNIT_BYTES } from "./unit.js";

/** What another thread needs to reach the same slab; it can be posted. */
export type SlabHandle =
  | { readonly kind: "mapped"; readonly bytes: number; readonly regions: number }
  | { readonly kind: "shared"; readonly windows: readonly SharedArrayBuffer[]; readonly regions: number };

export interface SlabSize {
  /** Address space, a multiple of 4096. Memory is only taken where blocks are used. */
  readonly bytes: number;
  /** Regions of equal size, one for each thread that allocates. Default 1. */
  readonly regions?: number;
}

export const SLAB_BYTES_MAX = 2 ** 36;
const SLAB_BYTES_MIN = 2 ** 20;
/** Windows of a slab without the addon. V8 allows more, but positions stay small integers. */
const SHARED_WINDOW_BYTES = 2 ** 30;

/** The addon keeps one mapping for the process, and each thread needs only one view of it. */
let mapped: Slab | undefined;

/**
 * One range of memory that all threads of the process see under the same offsets. It begins with the words that count
 * blocks; the rest is cut into regions, each of which one thread allocates from.
 */
export class Slab {
  readonly bytes: number;
  readonly regions: number;
  readonly handle: SlabHandle;
  readonly control: ControlWords;
  private readonly windows: readonly ArrayBufferLike[];
  private readonly windowBytes: number;
  private readonly baseHigh: number;
  private readonly addon: Addon | undefined;

  private constructor(
    handle: SlabHandle,
    windows: readonly ArrayBufferLike[],
    windowBytes: number,
    baseHigh: number,
    addon: Addon | undefined,
  ) {
    this.handle = handle;
    this.regions = handle.regions;
    this.bytes = windows.reduce((sum, window) => sum + window.byteLength, 0);
    this.windows = windows;
    this.windowBytes = windowBytes;
    this.baseHigh = baseHigh;
    this.addon = addon;
    const [first] = windows;
    if (first === undefined) throw new RangeError("a slab has memory");
    this.control = new ControlWords(first, this.bytes / UNIT_BYTES, this.regions);
  }

  /** The mapped slab of this process, which rings need. Every thread asks with the same size and regions. */
  static map(addon: Addon, { bytes, regions = 1 }: SlabSize): Slab {
    checkSize(bytes, regions);
    if (mapped !== undefined) {
      if (mapped.bytes === bytes && mapped.regions === regions) return mapped;
      throw new RangeError(
        `the process has a slab of ${mapped.bytes} bytes in ${mapped.regions} regions; ask for the same`,
      );
    }
    const { windows, windowBytes, baseHigh } = addon.slabOpen(bytes);
    mapped = new Slab({ kind: "mapped", bytes, regions }, windows, windowBytes, baseHigh, addon);
    return mapped;
  }

  /** A slab of shared memory, where there is no addon. Rings can't use it. */
  static share({ bytes, regions = 1 }: SlabSize): Slab {
    checkSize(bytes, regions);
    const windows: SharedArrayBuffer[] = [];
    for (let at = 0; at < bytes; at += SHARED_WINDOW_BYTES) {
      windows.push(new SharedArrayBuffer(Math.min(SHARED_WINDOW_BYTES, bytes - at)));
    }
    return new Slab({ kind: "shared", windows, regions }, windows, SHARED_WINDOW_BYTES, 0, undefined);
  }

  /** The slab of another thread. */
  static attach(handle: SlabHandle, addon: Addon | undefined): Slab {
    if (handle.kind === "shared") return new Slab(handle, handle.windows, SHARED_WINDOW_BYTES, 0, undefined);
    if (addon === undefined) throw new TypeError("a mapped slab needs the addon");
    return Slab.map(addon, handle);
  }

  /** Whether the kernel can be told addresses in it. */
  get isMapped(): boolean {
    return this.addon !== undefined;
  }

  view(offset: number, length: number): Uint8Array {
    const window = this.windows[Math.floor(offset / this.windowBytes)];
    if (window === undefined) throw new RangeError(`offset ${offset} is outside the slab`);
    return new Uint8Array(window, offset % this.windowBytes, length);
  }

  /** Where these bytes lie in the slab, -1 when they are elsewhere. */
  offsetOf(bytes: Uint8Array): number {
    const { buffer } = bytes;
    for (let at = 0; at < this.windows.length; at++) {
      if (this.windows[at] === buffer) return at * this.windowBytes + bytes.byteOffset;
    }
    return -1;
  }

  /** The words of the address that the kernel knows an offset by. */
  addressLow(offset: number): number {
    return offset >>> 0;
  }

  addressHigh(offset: number): number {
    return this.baseHigh + Math.floor(offset / 2 ** 32);
  }

  /** No block spans two windows. */
  windowEnd(offset: number): number {
    return Math.min(this.bytes, (Math.floor(offset / this.windowBytes) + 1) * this.windowBytes);
  }

  /** Gives pages back to the system, if this kind of memory can. Returns the bytes given back. */
  discard(offset: number, length: number): number {
    if (this.addon === undefined) return 0;
    this.addon.slabDiscard(offset, length);
    return length;
  }
}

function checkSize(bytes: number, regions: number): void {
  if (!Number.isSafeInteger(bytes) || bytes % UNIT_BYTES !== 0 || bytes < SLAB_BYTES_MIN || bytes > SLAB_BYTES_MAX) {
    throw new RangeError(
      `a slab has ${SLAB_BYTES_MIN} to ${SLAB_BYTES_MAX} bytes, a multiple of ${UNIT_BYTES}; not ${bytes}`,
    );
  }
  if (!Number.isSafeInteger(regions) || regions < 1 || regions > REGIONS_MAX) {
    throw new RangeError(`a slab has 1 to ${REGIONS_MAX} regions, not ${regions}`);
  }
}
