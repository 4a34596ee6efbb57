import { once } from "node:events";
import net from "node:net";
import { type Block, type ReceiveBuffer, RingListener, RingStream, type StreamHandler } from "../../src/index.js";
import type { Uring } from "./uring.js";

/** Receives into one block after another and remembers what happened. */
export class Recorder implements StreamHandler {
  stream: RingStream | undefined;
  receivedBytes = 0;
  error: Error | undefined;
  isEnded = false;
  isClosed = false;
  /** What is done with received bytes; the block is released afterwards unless it is retained. */
  onBytes: (bytes: Uint8Array, block: Block) => void = () => undefined;
  onEnd: () => void = () => undefined;
  bufferBytes = 64 * 1024;
  exact = false;
  private readonly uring: Uring;
  private block: Block | undefined;
  readonly whenEnded: Promise<void>;
  readonly whenClosed: Promise<void>;
  private resolveEnded: () => void = () => undefined;
  private resolveClosed: () => void = () => undefined;

  constructor(uring: Uring) {
    this.uring = uring;
    this.whenEnded = new Promise((resolve) => (this.resolveEnded = resolve));
    this.whenClosed = new Promise((resolve) => (this.resolveClosed = resolve));
  }

  buffer(): ReceiveBuffer | undefined {
    this.block ??= this.uring.blocks.allocate(this.bufferBytes);
    if (this.block === undefined) return undefined;
    return { block: this.block, offset: 0, length: this.bufferBytes, exact: this.exact };
  }

  received(bytes: number): void {
    const { block } = this;
    if (block === undefined) throw new Error("received without a buffer");
    this.block = undefined;
    this.receivedBytes += bytes;
    this.onBytes(block.bytes.subarray(0, bytes), block);
    block.release();
  }

  ended(error: Error | undefined): void {
    this.isEnded = true;
    this.error = error;
    this.resolveEnded();
    this.onEnd();
  }

  closed(error: Error | undefined): void {
    this.isClosed = true;
    this.error ??= error;
    this.block?.release();
    this.block = undefined;
    this.resolveClosed();
  }
}

/** A listener whose streams are given to `serve` before they start. */
export function serve(uring: Uring, serveStream: (stream: RingStream, recorder: Recorder) => void): RingListener {
  return RingListener.listen(uring.ring, {
    host: "127.0.0.1",
    port: 0,
    onAccept: (descriptor) => {
      const recorder = new Recorder(uring);
      const stream = new RingStream(uring.ring, descriptor, recorder);
      recorder.stream = stream;
      serveStream(stream, recorder);
      stream.resume();
    },
  });
}

/** Sends back what arrives, by reference, and ends when the peer does. */
export function echo(stream: RingStream, recorder: Recorder): void {
  recorder.onBytes = (bytes, block) => {
    block.retain();
    stream.send([bytes], () => block.release());
  };
  recorder.onEnd = () => stream.end();
}

export async function connect(port: number, options: Partial<net.TcpNetConnectOpts> = {}): Promise<net.Socket> {
  const socket = net.connect({ host: "127.0.0.1", port, ...options });
  await once(socket, "connect");
  return socket;
}

/** Everything that a peer sends until it ends. The socket stays open for what it may still send itself. */
export async function readAll(socket: net.Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.resume();
  await once(socket, "end");
  return Buffer.concat(chunks);
}
