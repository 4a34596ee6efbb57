import { ErrorCode, writeRequestHeader } from "@iggy/protocol";
import { beforeEach, expect, it } from "vitest";
import type { Channel } from "../../src/net/channel.js";
import { ChunkFraming } from "../../src/net/chunk-framing.js";
import { Connection } from "../../src/net/connection.js";

class TestChannel implements Channel {
  readonly peerAddress = "127.0.0.1:1";
  queuedBytes = 0;
  paused = false;
  destroyed = false;
  ended = false;
  sent = 0;
  send(pieces: readonly Uint8Array[]): void {
    for (const piece of pieces) this.queuedBytes += piece.length;
    this.sent++;
  }
  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }
  end(): void {
    this.ended = true;
  }
  destroy(): void {
    this.destroyed = true;
  }
}

const frameOf = (request: number): Uint8Array => {
  const frame = new Uint8Array(256);
  writeRequestHeader(frame, 0, { bodyLength: 0, client: 1n, operation: 2, request, session: 1 });
  return frame;
};

let channel: TestChannel;
let frames: number;
let closed: number;
let malformed: number;
let handled: () => void;
let now: number;
let connection: Connection;
let framing: ChunkFraming;

beforeEach(() => {
  channel = new TestChannel();
  frames = closed = malformed = 0;
  handled = () => undefined;
  now = 0;
  connection = new Connection(
    1,
    1,
    channel,
    {
      frame: () => {
        frames++;
        handled();
      },
      malformed: () => malformed++,
      closed: () => closed++,
    },
    {
      maxFrameBytes: 1024,
      maxUnboundFrameBytes: 512,
      inFlightMax: 3,
      inFlightBytesHigh: 3000,
      queuedBytesHigh: 1000,
      queuedBytesMax: 5000,
    },
    { nowMicros: () => 0, monotonicMillis: () => now },
  );
  framing = new ChunkFraming(connection);
});

it("stops to read while too many requests are under way", () => {
  for (let i = 0; i < 3; i++) connection.beginRequest(0);
  framing.take(frameOf(1));
  expect(channel.paused).toBe(true);
  connection.finishRequest(0);
  expect(channel.paused).toBe(false);
});

it("stops to read while the requests under way hold too many bytes", () => {
  connection.beginRequest(3000);
  framing.take(frameOf(1));
  expect(channel.paused).toBe(false);
  connection.beginRequest(1);
  framing.take(frameOf(2));
  expect(channel.paused).toBe(true);
  connection.finishRequest(3000);
  expect(channel.paused).toBe(false);
  connection.finishRequest(1);
});

it("stops to read while replies pile up, and goes on when they have left", () => {
  connection.send([new Uint8Array(1001)]);
  expect(channel.paused).toBe(true);
  channel.queuedBytes = 0;
  connection.drained();
  expect(channel.paused).toBe(false);
});

it("knows when it last heard anything of its peer, and does not blame it for what it did not listen to", () => {
  now = 50;
  expect(connection.heardMillis).toBe(0);
  framing.take(frameOf(1).subarray(0, 10));
  now = 90;
  expect(connection.heardMillis).toBe(50);
  connection.send([new Uint8Array(1001)]);
  expect(connection.heardMillis).toBe(90);
});

it("drops a peer that does not take its replies", () => {
  connection.send([new Uint8Array(5001)]);
  expect(channel.destroyed).toBe(true);
  expect(closed).toBe(1);
});

it("closes on bytes that are no frame and handles nothing after them", () => {
  const bad = frameOf(1);
  new DataView(bad.buffer).setUint32(48, 7, true);
  framing.take(bad);
  expect([malformed, closed, frames]).toEqual([1, 1, 0]);
  framing.take(frameOf(2));
  expect(frames).toBe(0);
});

/** The head of a frame that claims a size. */
const claim = (size: number): Uint8Array => {
  const head = frameOf(1);
  new DataView(head.buffer).setUint32(48, size, true);
  return head;
};

it("refuses a frame above the limit before it is received", () => {
  connection.binding = { client: 1n, session: 1, userId: 0 };
  framing.take(claim(1025));
  expect([malformed, closed]).toEqual([1, 1]);
});

it("takes small frames only until it is signed in", () => {
  framing.take(claim(513));
  expect([malformed, closed]).toEqual([1, 1]);
});

it("takes large frames from the moment at which it is signed in, within one chunk too", () => {
  handled = () => (connection.binding = { client: 1n, session: 1, userId: 0 });
  framing.take(Buffer.concat([frameOf(1), claim(1024)]));
  expect([frames, malformed, closed]).toEqual([1, 0, 0]);
});

it("cancels at once what begins to wait when the connection is gone", async () => {
  const cancelled: number[] = [];
  connection.closed();
  connection.addWaiting(1, (code) => cancelled.push(code));
  await Promise.resolve();
  expect(cancelled).toEqual([ErrorCode.TransientNotAccepted]);
});

it("cancels what waits when a cancel or the end of the connection arrives", () => {
  const cancelled: number[] = [];
  for (const request of [1, 2]) connection.addWaiting(request, () => cancelled.push(request));
  connection.cancelWaiting(1);
  connection.cancelWaiting(99);
  connection.removeWaiting(1);
  connection.closed();
  connection.closed();
  expect(cancelled).toEqual([1, 2]);
  expect(closed).toBe(1);
});
