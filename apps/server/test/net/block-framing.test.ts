import { FrameAssembler, writeRequestHeader } from "@iggy/protocol";
import type { Memory } from "@iggy/storage";
import fc from "fast-check";
import { expect, it } from "vitest";
import { BlockFraming } from "../../src/net/block-framing.js";
import type { ChannelEvents } from "../../src/net/channel.js";

const POISON = 0xdb;
const UNIT = 4096;

/** Memory whose bytes are spoilt when its last holder lets go. */
class CountedMemory implements Memory {
  readonly bytes: Uint8Array;
  holders = 1;
  constructor(bytes: number) {
    this.bytes = new Uint8Array(Math.ceil(bytes / UNIT) * UNIT);
  }
  retain(): void {
    if (this.holders === 0) throw new Error("retained after its release");
    this.holders++;
  }
  release(): void {
    if (this.holders === 0) throw new Error("released twice");
    if (--this.holders === 0) this.bytes.fill(POISON);
  }
}

class Peer implements ChannelEvents {
  maxFrameBytes = 64 * 1024 * 1024;
  readonly kept: { readonly frame: Uint8Array; readonly memory: Memory }[] = [];
  readonly faults: Error[] = [];
  settledCount = 0;
  heard(): void {
    // Not asked here.
  }
  frame(frame: Uint8Array, memory: Memory | undefined): void {
    if (memory === undefined) throw new Error("the frame is in no memory");
    memory.retain();
    this.kept.push({ frame, memory });
  }
  cancelWaiting(): void {
    // Nobody gives up here.
  }
  malformed(error: Error): void {
    this.faults.push(error);
  }
  settled(): void {
    this.settledCount++;
  }
  drained(): void {
    // Nothing is sent here.
  }
  closed(): void {
    // Not asked here.
  }
}

function frameOf(request: number, bodyLength: number): Uint8Array {
  const frame = new Uint8Array(256 + bodyLength);
  writeRequestHeader(frame, 0, { bodyLength, client: 1n, operation: 2, request, session: 1 });
  for (let at = 256; at < frame.length; at += 97) frame[at] = request + at;
  return frame;
}

interface Bench {
  readonly framing: BlockFraming<CountedMemory>;
  readonly peer: Peer;
  readonly blocks: CountedMemory[];
}

function bench(): Bench {
  const blocks: CountedMemory[] = [];
  const peer = new Peer();
  const framing = new BlockFraming(peer, (bytes) => {
    const memory = new CountedMemory(bytes);
    blocks.push(memory);
    return memory;
  });
  return { framing, peer, blocks };
}

/** Lets bytes arrive in pieces of the given sizes, as far as there is room for them each time. */
function arrive({ framing, peer }: Bench, stream: Uint8Array, pieces: readonly number[]): void {
  for (let at = 0, turn = 0; at < stream.length && peer.faults.length === 0; turn++) {
    const landing = framing.landing();
    if (landing === undefined) throw new Error("no landing");
    const wanted = landing.exact ? landing.length : (pieces[turn % pieces.length] ?? landing.length);
    const count = Math.min(wanted, landing.length, stream.length - at);
    landing.block.bytes.set(stream.subarray(at, at + count), landing.offset);
    framing.received(count);
    at += count;
  }
}

const inUse = (blocks: readonly CountedMemory[]): number => blocks.filter(({ holders }) => holders > 0).length;

it("gives the frames of any stream, however it arrives, and holds nothing when all are let go", () => {
  const sizes = fc.array(
    fc.oneof(fc.nat(600), fc.nat(5_000), fc.constantFrom(16_000, 65_280, 70_000, 300_000, 1_200_000)),
    { maxLength: 12 },
  );
  const pieces = fc.array(fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 200_000 })), {
    minLength: 1,
    maxLength: 20,
  });
  fc.assert(
    fc.property(sizes, pieces, (bodies, chunks) => {
      const stream = Buffer.concat(bodies.map((size, at) => frameOf(at, size)));
      const place = bench();
      arrive(place, stream, chunks);
      const expected: Uint8Array[] = [];
      new FrameAssembler().push(new Uint8Array(stream), (frame) => expected.push(frame.slice()));
      const { kept, faults } = place.peer;
      expect(faults).toEqual([]);
      expect(kept.map(({ frame }) => Buffer.compare(frame, expected.shift() ?? new Uint8Array(0)))).toEqual(
        bodies.map(() => 0),
      );
      for (const { memory } of kept) memory.release();
      place.framing.close();
      expect(inUse(place.blocks)).toBe(0);
    }),
    { numRuns: 150 },
  );
});

it("receives the rest of a large frame in one go", () => {
  const place = bench();
  const frame = frameOf(1, 300_000);
  const first = place.framing.landing();
  first?.block.bytes.set(frame.subarray(0, 300));
  place.framing.received(300);
  const rest = place.framing.landing();
  expect(rest).toMatchObject({ exact: true, offset: 300, length: frame.length - 300 });
});

it("holds little between frames, however large they are", () => {
  const place = bench();
  arrive(place, frameOf(1, 300_000), [Infinity]);
  for (const { memory } of place.peer.kept) memory.release();
  expect(inUse(place.blocks)).toBe(0);
  place.framing.landing();
  expect(place.framing.heldBytes).toBe(4096);
});

it("lets small frames share a block", () => {
  const place = bench();
  const stream = Buffer.concat(Array.from({ length: 100 }, (_, at) => frameOf(at, 44)));
  arrive(place, stream, [300]);
  expect(place.blocks.length).toBeLessThanOrEqual(10);
});

it("holds one step of a frame that only claims to be large", () => {
  const place = bench();
  arrive(place, frameOf(1, 60_000_000).subarray(0, 2_000), [2_000]);
  place.framing.landing();
  expect(place.framing.heldBytes).toBe(1024 * 1024);
});

it("refuses a frame above the limit before it is received, and takes nothing more", () => {
  const place = bench();
  place.peer.maxFrameBytes = 1024;
  arrive(place, frameOf(1, 769), [100]);
  expect(place.peer.faults.map(({ message }) => message)).toEqual([
    expect.stringContaining("exceeds the limit of 1024"),
  ]);
  expect(place.framing.landing()).toBeUndefined();
  expect(inUse(place.blocks)).toBe(0);
});

it("waits while there is no memory, and goes on in the same place", () => {
  const peer = new Peer();
  let room = 1;
  const framing = new BlockFraming(peer, (bytes) => (room-- > 0 ? new CountedMemory(bytes) : undefined));
  const frame = frameOf(1, 300_000);
  const first = framing.landing();
  first?.block.bytes.set(frame.subarray(0, 300));
  framing.received(300);
  expect(framing.landing()).toBeUndefined();
  room = 1;
  const rest = framing.landing();
  rest?.block.bytes.set(frame.subarray(300), rest.offset);
  framing.received(frame.length - 300);
  expect(Buffer.compare(peer.kept[0]?.frame ?? new Uint8Array(0), frame)).toBe(0);
});
