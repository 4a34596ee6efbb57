import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { FrameAssembler, RequestHeader } from "@iggy/protocol";
import { type Answer, readAnswer } from "./answer.js";
import { RawWebSocket } from "./websocket.js";

/** A server answers everything that it answers at all well within this, also on a loaded machine. */
const ANSWER_WITHIN_MILLIS = 10_000;
/** The tests read replies of the largest size. */
const FRAME_BYTES_MAX = 128 * 1024 * 1024;

export interface LinkOptions {
  readonly host?: string;
  /** Speak TLS and trust any certificate. */
  readonly tls?: boolean;
  /** Speak WebSocket: every write is one message. */
  readonly webSocket?: boolean;
  /** Keep this side open when the server ends its own. */
  readonly halfOpen?: boolean;
  /** Read nothing until `resume`. */
  readonly paused?: boolean;
}

/**
 * A connection to a server, byte by byte when a test wants that. Answers are matched by request number, first come first
 * served where a number is used twice; an eviction answers everything that waits.
 */
export class RawLink {
  readonly socket: Socket;
  /** Resolves when the connection is gone, whoever ended it. */
  readonly closed: Promise<void>;
  /** Answers that nobody waited for. */
  readonly unclaimed: Answer[] = [];
  private readonly waiting: { readonly request: bigint | undefined; settle: (answer: Answer) => void }[] = [];
  private readonly assembler = new FrameAssembler(FRAME_BYTES_MAX);
  private isClosed = false;

  private readonly webSocket: RawWebSocket | undefined;

  private constructor(socket: Socket, webSocket?: RawWebSocket) {
    this.socket = socket;
    this.webSocket = webSocket;
    this.closed = new Promise((resolve) => {
      socket.on("close", () => {
        this.isClosed = true;
        for (const { settle } of this.waiting.splice(0)) settle({ kind: "closed" });
        resolve();
      });
    });
    // A reset is one of the ways in which a server refuses; "close" follows.
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Uint8Array) => {
      const chunks = webSocket === undefined ? [chunk] : webSocket.messages.splice(0);
      for (const bytes of chunks) {
        this.assembler.push(bytes, (frame) => this.take(readAnswer(Uint8Array.from(frame))));
      }
    });
  }

  static async connect(
    port: number,
    { host = "127.0.0.1", tls = false, webSocket = false, halfOpen = false, paused = false }: LinkOptions = {},
  ): Promise<RawLink> {
    if (webSocket) {
      const opened = await RawWebSocket.open(port, { tls });
      return new RawLink(opened.socket, opened);
    }
    const socket = tls
      ? connectTls({ host, port, rejectUnauthorized: false })
      : connectTcp({ host, port, noDelay: true, allowHalfOpen: halfOpen });
    await once(socket, tls ? "secureConnect" : "connect");
    const link = new RawLink(socket);
    if (paused) socket.pause();
    return link;
  }

  get isOpen(): boolean {
    return !this.isClosed;
  }

  write(bytes: Uint8Array): void {
    if (this.webSocket === undefined) this.socket.write(bytes);
    else this.webSocket.send(bytes);
  }

  /** Sends a request frame and gives what answers it. */
  ask(frame: Uint8Array): Promise<Answer> {
    const answer = this.answerTo(new RequestHeader().at(frame, 0).requestBig);
    this.write(frame);
    return answer;
  }

  /** The next answer to a request number. Throws when none comes. */
  answerTo(request: bigint | number, withinMillis = ANSWER_WITHIN_MILLIS): Promise<Answer> {
    return this.wait(BigInt(request), withinMillis);
  }

  /** The next answer, whatever it answers. */
  next(withinMillis = ANSWER_WITHIN_MILLIS): Promise<Answer> {
    const [first] = this.unclaimed.splice(0, 1);
    return first === undefined ? this.wait(undefined, withinMillis) : Promise.resolve(first);
  }

  /** Whether the connection ends within a time. */
  async closes(withinMillis = ANSWER_WITHIN_MILLIS): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), withinMillis)));
    const isClosed = await Promise.race([this.closed.then(() => true), late]);
    clearTimeout(timer);
    return isClosed;
  }

  /** Ends the connection with what was written still delivered. */
  async end(): Promise<void> {
    this.socket.end();
    this.socket.destroySoon();
    await this.closed;
  }

  /** Cuts the connection with a reset. */
  async reset(): Promise<void> {
    this.socket.resetAndDestroy();
    await this.closed;
  }

  private wait(request: bigint | undefined, withinMillis: number): Promise<Answer> {
    if (this.isClosed) return Promise.resolve({ kind: "closed" });
    const { promise, resolve, reject } = deferred<Answer>();
    const what = request === undefined ? "nothing" : `no answer to request ${request}`;
    const error = new Error(`${what} within ${withinMillis} ms`);
    const timer = setTimeout(() => reject(error), withinMillis);
    this.waiting.push({
      request,
      settle: (answer) => {
        clearTimeout(timer);
        resolve(answer);
      },
    });
    return promise;
  }

  private take(answer: Answer): void {
    if (answer.kind === "evicted") {
      if (this.waiting.length === 0) this.unclaimed.push(answer);
      for (const { settle } of this.waiting.splice(0)) settle(answer);
      return;
    }
    const number = answer.kind === "closed" ? undefined : answer.header.requestBig;
    const at = this.waiting.findIndex(({ request }) => request === undefined || request === number);
    if (at < 0) this.unclaimed.push(answer);
    else for (const { settle } of this.waiting.splice(at, 1)) settle(answer);
  }
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<T>((accept, refuse) => {
    resolve = accept;
    reject = refuse;
  });
  return { promise, resolve, reject };
}
