import { randomBytes } from "node:crypto";
import { once } from "node:events";
import net from "node:net";
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Block, RingListener, RingStream } from "../../src/index.js";
import { connect, echo, readAll, Recorder, serve } from "../support/sink.js";
import { openUring, type Uring, withRing } from "../support/uring.js";

const MIB = 1024 * 1024;

withRing("a stream", (addon) => {
  let uring: Uring;
  let listener: RingListener | undefined;

  beforeEach(() => {
    uring = openUring(addon);
    listener = undefined;
  });

  afterEach(async () => {
    await listener?.close();
    await uring.close();
    expect(uring.ring.inFlight).toBe(0);
    await nextTurn();
    expect(uring.blocks.usedBytes).toBe(0);
  });

  test("takes bytes in whatever pieces they come", async () => {
    listener = serve(uring, echo);
    const sent = randomBytes(300_000);
    const socket = await connect(listener.port, { noDelay: true });
    const received = readAll(socket);
    let seed = 12345;
    for (let at = 0; at < sent.length;) {
      seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
      const length = 1 + (seed % 8000);
      if (!socket.write(sent.subarray(at, at + length))) await once(socket, "drain");
      if (seed % 5 === 0) await delay(1);
      at += length;
    }
    socket.end();
    expect((await received).equals(sent)).toBe(true);
  });

  test("reports an exact receive only when all of it is there, however slowly it comes", async () => {
    const sizes: number[] = [];
    listener = serve(uring, (stream, recorder) => {
      recorder.exact = true;
      recorder.bufferBytes = 100_000;
      recorder.onBytes = (bytes) => sizes.push(bytes.length);
      recorder.onEnd = () => stream.end();
    });
    const socket = await connect(listener.port, { noDelay: true });
    for (let piece = 0; piece < 25; piece++) {
      socket.write(new Uint8Array(10_000));
      await delay(1);
    }
    socket.end();
    await readAll(socket);
    expect(sizes).toEqual([100_000, 100_000, 50_000]);
  });

  test("asks for the next buffer only when its handler is done with what arrived, whatever that calls", async () => {
    let isLooking = false;
    let isDisturbed = false;
    listener = serve(uring, (stream, recorder) => {
      const buffer = recorder.buffer.bind(recorder);
      recorder.buffer = () => {
        isDisturbed ||= isLooking;
        return buffer();
      };
      recorder.onBytes = () => {
        isLooking = true;
        stream.pause();
        stream.resume();
        isLooking = false;
      };
      recorder.onEnd = () => stream.end();
    });
    const socket = await connect(listener.port, { noDelay: true });
    for (let piece = 0; piece < 20; piece++) {
      socket.write(new Uint8Array(1000));
      await delay(1);
    }
    socket.end();
    await readAll(socket);
    expect(isDisturbed).toBe(false);
  });

  test("sends pieces of all kinds in order, and calls done in order", async () => {
    const calls: number[] = [];
    const expected: Buffer[] = [];
    const keep = (bytes: Uint8Array): Uint8Array => {
      expected.push(Buffer.from(bytes));
      return bytes;
    };
    listener = serve(uring, (stream) => {
      for (let message = 0; message < 400; message++) {
        const block = uring.blocks.allocate(20_000);
        if (block === undefined) throw new Error("out of blocks");
        block.bytes.fill(message % 251, 0, 20_000);
        const pieces = [
          keep(randomBytes(1 + (message % 300))),
          keep(block.bytes.subarray(message, message + 13_000 + message)),
          new Uint8Array(0),
          keep(block.bytes.subarray(0, message % 500)),
          keep(randomBytes(message % 7 === 0 ? 150_000 : 5)),
        ];
        stream.send(pieces, () => {
          calls.push(message);
          block.release();
        });
      }
      expect(stream.queuedBytes).toBe(Buffer.concat(expected).length);
      stream.end();
    });
    const socket = await connect(listener.port);
    const received = await readAll(socket);
    expect(received.equals(Buffer.concat(expected))).toBe(true);
    expect(calls).toEqual([...Array(400).keys()]);
  });

  test("copies bytes of the heap at once, so that they may change after send", async () => {
    listener = serve(uring, (stream) => {
      const bytes = new Uint8Array(100_000).fill(1);
      stream.send([bytes]);
      bytes.fill(2);
      stream.end();
    });
    const received = await readAll(await connect(listener.port));
    expect(received.length).toBe(100_000);
    expect(received.every((byte) => byte === 1)).toBe(true);
  });

  test("sends everything even when the slab is out of memory", async () => {
    const sent = randomBytes(3 * MIB);
    const hoard: Block[] = [];
    let recorder: Recorder | undefined;
    listener = serve(uring, (stream, made) => {
      recorder = made;
      for (let bytes = 16 * MIB; bytes >= 4096;) {
        const block = uring.blocks.allocate(bytes);
        if (block === undefined) bytes /= 2;
        else hoard.push(block);
      }
      const inSlab = hoard[0]?.bytes.subarray(0, 400) ?? new Uint8Array();
      inSlab.fill(9);
      stream.send([sent.subarray(0, 100), inSlab, sent.subarray(100, MIB)]);
      stream.send([sent.subarray(MIB)], () => stream.end());
    });
    const socket = await connect(listener.port, { allowHalfOpen: true });
    socket.pause();
    await delay(30);
    const received = await readAll(socket);
    for (const block of hoard) block.release();
    // It had no room to receive either.
    recorder?.stream?.resume();
    socket.end();
    await recorder?.whenClosed;
    const all = Buffer.concat([sent.subarray(0, 100), Buffer.alloc(400, 9), sent.subarray(100)]);
    expect(received.equals(all)).toBe(true);
  });

  test("goes on sending to a peer that has ended its side, and closes when both have", async () => {
    let recorder: Recorder | undefined;
    listener = serve(uring, (stream, made) => {
      recorder = made;
      made.onEnd = () => {
        stream.send([randomBytes(500_000)]);
        stream.end();
      };
    });
    const socket = await connect(listener.port, { allowHalfOpen: true });
    socket.end("bye");
    expect((await readAll(socket)).length).toBe(500_000);
    await recorder?.whenClosed;
    expect(recorder?.error).toBeUndefined();
    expect(recorder?.receivedBytes).toBe(3);
  });

  test("goes on receiving after it has ended its own side", async () => {
    let recorder: Recorder | undefined;
    listener = serve(uring, (stream, made) => {
      recorder = made;
      stream.send([Buffer.from("done")]);
      stream.end();
    });
    const socket = await connect(listener.port, { allowHalfOpen: true });
    expect((await readAll(socket)).toString()).toBe("done");
    socket.end(randomBytes(200_000));
    await recorder?.whenClosed;
    expect(recorder?.receivedBytes).toBe(200_000);
  });

  test("reports a reset by the peer, closes, and lets go of what it had to send", async () => {
    let isReleased = false;
    const streams: Recorder[] = [];
    listener = serve(uring, (stream, recorder) => {
      streams.push(recorder);
      const block = uring.blocks.allocate(16 * MIB);
      if (block === undefined) throw new Error("out of blocks");
      stream.send([block.bytes], () => {
        isReleased = true;
        block.release();
      });
    });
    const socket = await connect(listener.port);
    socket.pause();
    await delay(20);
    socket.resetAndDestroy();
    await streams[0]?.whenClosed;
    expect(streams[0]?.error).toMatchObject({ code: expect.stringMatching(/ECONNRESET|EPIPE/) as string });
    expect(isReleased).toBe(true);
  });

  test("receives nothing while it is paused, then everything", async () => {
    let stream: RingStream | undefined;
    let recorder: Recorder | undefined;
    const sent = randomBytes(2 * MIB);
    const received: Buffer[] = [];
    listener = serve(uring, (made, itsRecorder) => {
      stream = made;
      recorder = itsRecorder;
      recorder.onBytes = (bytes) => received.push(Buffer.from(bytes));
      setImmediate(() => made.pause());
    });
    const socket = await connect(listener.port);
    await delay(20);
    socket.end(sent);
    await delay(50);
    expect(received.length).toBe(0);
    stream?.resume();
    await recorder?.whenEnded;
    expect(Buffer.concat(received).equals(sent)).toBe(true);
    stream?.destroy();
    await recorder?.whenClosed;
  });

  test("may be destroyed from any callback, and calls nothing but closed afterwards", async () => {
    const recorders: Recorder[] = [];
    listener = serve(uring, (stream, recorder) => {
      recorders.push(recorder);
      recorder.onBytes = () => stream.destroy();
    });
    const socket = await connect(listener.port);
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => undefined);
    socket.write(randomBytes(1 * MIB));
    await closed;
    await recorders[0]?.whenClosed;
    expect(recorders[0]?.isEnded).toBe(false);
    expect(recorders[0]?.receivedBytes).toBeLessThanOrEqual(64 * 1024);
  });

  test("knows the peer, how much waits, and since when it is quiet", async () => {
    let stream: RingStream | undefined;
    listener = serve(uring, (made) => (stream = made));
    const socket = await connect(listener.port);
    socket.write("x");
    await delay(60);
    expect(stream?.peerAddress).toBe(`127.0.0.1:${socket.localPort}`);
    expect(stream?.quietMillis).toBeGreaterThan(20);
    expect(stream?.queuedBytes).toBe(0);
    stream?.send([new Uint8Array(32 * MIB)]);
    await delay(20);
    expect(stream?.queuedBytes).toBeGreaterThan(MIB);
    socket.destroy();
  });

  test("serves a thousand connections at a time", async () => {
    listener = serve(uring, (stream, recorder) => {
      recorder.bufferBytes = 4096;
      echo(stream, recorder);
    });
    const { port } = listener;
    const echoes = Array.from({ length: 1000 }, async (_, at) => {
      const socket = await connect(port);
      const received = readAll(socket);
      socket.write(`hello ${at}`);
      await delay(50);
      socket.end("!");
      return (await received).toString();
    });
    expect(await Promise.all(echoes)).toEqual(Array.from({ length: 1000 }, (_, at) => `hello ${at}!`));
  });

  test("over IPv6 and IPv4 on one listener", async () => {
    const peers: string[] = [];
    let both: RingListener;
    try {
      both = RingListener.listen(uring.ring, {
        host: "::",
        port: 0,
        onAccept: (descriptor) => {
          const recorder = new Recorder(uring);
          const stream = new RingStream(uring.ring, descriptor, recorder);
          peers.push(stream.peerAddress.replace(/\d+$/, "*"));
          recorder.onEnd = () => stream.end();
          stream.resume();
        },
      });
    } catch (error) {
      // A machine without IPv6.
      expect(error).toMatchObject({ code: expect.stringMatching(/EAFNOSUPPORT|EADDRNOTAVAIL/) as string });
      return;
    }
    for (const host of ["127.0.0.1", "::1"]) {
      const socket = net.connect({ host, port: both.port });
      socket.end();
      await once(socket.resume(), "close");
    }
    expect(peers).toEqual(["127.0.0.1:*", "[::1]:*"]);
    await both.close();
  });

  test("refuses a port that is taken, with the system's error", () => {
    listener = serve(uring, echo);
    const { port } = listener;
    const options = { host: "127.0.0.1", port, onAccept: () => undefined };
    expect(() => RingListener.listen(uring.ring, options)).toThrow(
      expect.objectContaining({ code: "EADDRINUSE", syscall: "bind" }),
    );
  });
});
