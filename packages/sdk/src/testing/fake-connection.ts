import { FrameAssembler, HEADER_SIZE, RequestHeader } from "@iggy/protocol";
import type { Connection, ConnectionHandlers } from "../transport/index.js";

/** A request as the server gets it. */
export interface FakeRequest {
  readonly wire: FakeConnection;
  readonly header: RequestHeader;
  readonly body: Uint8Array;
}

/** Who a connection is bound to. */
export interface Binding {
  readonly client: bigint;
  readonly session: number;
  readonly userId: number;
}

/** Both ends of a connection without a network. Bytes arrive in later turns, as they do from a socket. */
export class FakeConnection implements Connection {
  binding: Binding | undefined;
  readonly #handlers: ConnectionHandlers;
  readonly #assembler = new FrameAssembler();
  readonly #serve: (request: FakeRequest) => void;
  readonly #onEnd: (wire: FakeConnection) => void;
  #isOpen = true;

  constructor(
    handlers: ConnectionHandlers,
    serve: (request: FakeRequest) => void,
    onEnd: (wire: FakeConnection) => void,
  ) {
    this.#handlers = handlers;
    this.#serve = serve;
    this.#onEnd = onEnd;
  }

  send(bytes: Uint8Array): boolean {
    queueMicrotask(() => {
      if (!this.#isOpen) return;
      // The frame may be sent again, so what the server keeps of it is a copy.
      this.#assembler.push(new Uint8Array(bytes), (frame) => {
        const header = new RequestHeader().at(frame);
        this.#serve({ wire: this, header, body: frame.subarray(HEADER_SIZE) });
      });
    });
    return true;
  }

  close(): void {
    queueMicrotask(() => this.#end(undefined));
  }

  /** The server's side: a frame to the client. */
  write(frame: Uint8Array): void {
    queueMicrotask(() => {
      if (this.#isOpen) this.#handlers.onData(frame);
    });
  }

  /** The server's side: the connection ends after what was written. */
  end(): void {
    queueMicrotask(() => this.#end(new Error("the fake server closed the connection")));
  }

  #end(error: Error | undefined): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#onEnd(this);
    this.#handlers.onClose(error);
  }
}
