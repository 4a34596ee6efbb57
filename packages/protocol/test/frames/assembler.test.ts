import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildRequest, FrameAssembler, FrameError, frameSize, HEADER_SIZE } from "../../src/frames/index.js";
import { randomBytes } from "../random-bytes.js";

const frameOf = (bodyLength: number, seed: number): Uint8Array =>
  buildRequest({ client: BigInt(seed + 1), operation: 2, request: seed }, randomBytes(bodyLength, seed));
const join = (frames: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(frames));

/** Feeds `bytes` in pieces, from one buffer that is overwritten between pushes, as a reader may do. */
const feed = (assembler: FrameAssembler, bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] => {
  const frames: Uint8Array[] = [];
  const reused = new Uint8Array(bytes.length);
  let at = 0;
  for (let i = 0; at < bytes.length; i++) {
    const size = Math.min(sizes[i % sizes.length]!, bytes.length - at);
    reused.set(bytes.subarray(at, at + size));
    assembler.push(reused.subarray(0, size), (frame) => frames.push(frame.slice()));
    reused.fill(0xee);
    at += size;
  }
  return frames;
};

describe("a frame assembler", () => {
  it("gives the same frames for any chunking", () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(2000), { minLength: 1, maxLength: 6 }),
        fc.array(fc.integer({ min: 1, max: 1500 }), { minLength: 1, maxLength: 5 }),
        (bodies, sizes) => {
          const frames = bodies.map(frameOf);
          const assembler = new FrameAssembler();
          expect(feed(assembler, join(frames), sizes)).toEqual(frames);
          expect(assembler.pendingBytes).toBe(0);
        },
      ),
    );
  });

  it("takes a frame byte by byte in linear time", () => {
    const frame = frameOf(3_000_000, 1);
    const assembler = new FrameAssembler();
    const frames: Uint8Array[] = [];
    const before = performance.now();
    for (let at = 0; at < frame.length; at++) assembler.push(frame.subarray(at, at + 1), (whole) => frames.push(whole));
    // A quadratic assembler would copy terabytes.
    expect(performance.now() - before).toBeLessThan(10_000);
    expect(frames).toHaveLength(1);
    expect(Buffer.compare(frames[0]!, frame)).toBe(0);
  });

  it("hands on a frame that lies whole in a chunk as a view of it", () => {
    const chunk = join([frameOf(0, 1), frameOf(700, 2), frameOf(5, 3)]);
    const seen: Uint8Array[] = [];
    new FrameAssembler().push(chunk, (frame) => seen.push(frame));
    expect(seen).toHaveLength(3);
    for (const frame of seen) expect(frame.buffer).toBe(chunk.buffer);
  });

  it("gives a frame of its own memory when chunks cut it", () => {
    const frame = frameOf(700, 2);
    const seen: Uint8Array[] = [];
    const assembler = new FrameAssembler();
    assembler.push(frame.subarray(0, 300), (whole) => seen.push(whole));
    expect(assembler.pendingBytes).toBe(300);
    assembler.push(frame.subarray(300), (whole) => seen.push(whole));
    expect(seen).toEqual([frame]);
    expect(seen[0]?.buffer.byteLength).toBe(frame.length);
  });

  it("refuses a size outside the limits before it reserves memory", () => {
    const kindOf = (size: number, split: number, limit?: number): string | undefined => {
      const header = new Uint8Array(HEADER_SIZE);
      new DataView(header.buffer).setUint32(48, size, true);
      const assembler = new FrameAssembler(limit);
      try {
        assembler.push(header.subarray(0, split), () => undefined);
        assembler.push(header.subarray(split), () => undefined);
        return undefined;
      } catch (error) {
        return error instanceof FrameError ? error.kind : "another error";
      }
    };
    for (const split of [256, 100, 52, 51, 1]) {
      expect(kindOf(255, split)).toBe("InvalidSize");
      expect(kindOf(0, split)).toBe("InvalidSize");
      expect(kindOf(67_108_865, split)).toBe("TooLarge");
      expect(kindOf(0xffff_ffff, split)).toBe("TooLarge");
      expect(kindOf(67_108_864, split)).toBeUndefined();
      expect(kindOf(1001, split, 1000)).toBe("TooLarge");
      expect(kindOf(256, split)).toBeUndefined();
    }
  });

  it("reserves little on a claim alone", () => {
    const claim = new Uint8Array(HEADER_SIZE);
    new DataView(claim.buffer).setUint32(48, 67_108_864, true);
    const before = process.memoryUsage().arrayBuffers;
    const assemblers = Array.from({ length: 16 }, () => {
      const assembler = new FrameAssembler();
      assembler.push(claim, () => undefined);
      return assembler;
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1_048_576);
    expect(assemblers.every((assembler) => assembler.pendingBytes === HEADER_SIZE)).toBe(true);
  });

  it("starts over after a reset", () => {
    const assembler = new FrameAssembler();
    assembler.push(frameOf(100, 1).subarray(0, 300), () => undefined);
    assembler.reset();
    expect(assembler.pendingBytes).toBe(0);
    const frame = frameOf(10, 4);
    expect(feed(assembler, frame, [7])).toEqual([frame]);
  });

  it("ends any bytes in frames, a remainder or a typed error", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 2000 }),
        fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 4 }),
        (bytes, sizes) => {
          // Small sizes, so that arbitrary bytes contain whole frames too.
          for (let at = 48; at + 4 <= bytes.length; at += 256) bytes.fill(0, at + 2, at + 4);
          try {
            feed(new FrameAssembler(4096), bytes, sizes);
          } catch (error) {
            expect(error).toBeInstanceOf(FrameError);
          }
        },
      ),
    );
  });
});

describe("frameSize", () => {
  it("is known from 52 bytes on", () => {
    const frame = frameOf(44, 1);
    expect(frameSize(frame)).toBe(300);
    expect(frameSize(frame, 0, 52)).toBe(300);
    expect(frameSize(frame, 0, 51)).toBeUndefined();
    expect(frameSize(frame.subarray(0, 51))).toBeUndefined();
    expect(frameSize(frame, 280)).toBeUndefined();
    expect(frameSize(join([new Uint8Array(9), frame]), 9)).toBe(300);
  });
});
