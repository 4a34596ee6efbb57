import { FrameError } from "./frame-error.js";

/** Every frame starts with a header of this size; `size` in the header counts it. */
export const HEADER_SIZE = 256;
/** Largest frame that a peer accepts unless it is configured otherwise. */
export const MAX_FRAME_SIZE_DEFAULT = 67_108_864;
/** Offset of the u32 frame size: the first bytes of a frame that a reader needs. */
export const SIZE_OFFSET = 48;

/**
 * Size in bytes of the frame that starts at `offset`, or undefined while fewer than 52 of its bytes are available. The
 * size is as claimed: check it against `HEADER_SIZE` and your limit, or let a FrameAssembler do it.
 */
export function frameSize(bytes: Uint8Array, offset = 0, available = bytes.length - offset): number | undefined {
  if (available < SIZE_OFFSET + 4 || offset < 0 || offset + SIZE_OFFSET + 4 > bytes.length) return undefined;
  const at = offset + SIZE_OFFSET;
  return (
    ((bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)) >>> 0
  );
}

/** Refuses a claimed frame size outside 256..`limit`. */
export function checkFrameSize(size: number, limit: number): void {
  if (size < HEADER_SIZE) {
    throw new FrameError("InvalidSize", `a frame of ${String(size)} bytes is shorter than its header`);
  }
  if (size > limit) {
    throw new FrameError("TooLarge", `a frame of ${String(size)} bytes exceeds the limit of ${String(limit)}`);
  }
}
