import {
  cancelDeferredRequest,
  ErrorCode,
  FrameAssembler,
  FrameCommand,
  FrameError,
  HEADER_SIZE,
  isPartitionOperation,
  Operation,
  ReplyHeader,
} from "@iggy/protocol";
import { Permits } from "../calls/permits.js";
import { type Scope, type ScopeEnd, ScopeEnded } from "../calls/scope.js";
import { DisconnectedError, errorOf, IggyError, ProtocolFrameError } from "../errors/index.js";
import { monotonicMs, unref } from "../time/timers.js";
import {
  type Connection,
  type ConnectionHandlers,
  type Endpoint,
  endpointText,
  type Transport,
} from "../transport/index.js";
import { evictionError } from "./eviction.js";
import { type Judgement, judgeReply } from "./judge-reply.js";
import { RequestFrame } from "./request-frame.js";

/** Requests that a server runs at once per connection; above it stops reading. */
export const maxPendingRequests = 256;
/** How long a retired link waits for replies that no call waits for, ms. */
const lateReplyMs = 2000;

/** How one attempt of a request ended. */
export type Attempt =
  | Exclude<Judgement, { readonly kind: "malformed" }>
  /** The link went away. `sent` tells whether the server may have the frame. */
  | { readonly kind: "lost"; readonly sent: boolean; readonly error: IggyError }
  /** The call ended before a reply. */
  | { readonly kind: "ended"; readonly sent: boolean; readonly end: ScopeEnd };

export interface LinkSettings {
  readonly maxFrameSize: number;
  /** A position of the metadata log that a reply named as committed. */
  readonly onCommit: (link: Link, commit: bigint) => void;
  readonly onClose: (link: Link, error: IggyError | undefined) => void;
}

export interface ExchangeOptions {
  /** The frame leaves now. */
  readonly onSent?: () => void;
  /** Takes the reply when it comes after the call ended. Without it such a reply is dropped. */
  readonly onLate?: (attempt: Attempt) => void;
}

interface Pending {
  readonly frame: RequestFrame;
  /** Whether the server may have the frame. */
  sent: boolean;
  settle: (attempt: Attempt) => void;
}

/**
 * One connection with many requests in flight. Replies come in any order and are matched by request number. The link
 * knows nothing of sessions and retries: it reports how an attempt ended, once.
 */
export class Link {
  readonly endpoint: Endpoint;
  readonly address: string;
  readonly openedAt = monotonicMs();
  /** Session fence that the connection was bound under; undefined while it is not bound. */
  boundFence: number | undefined;

  readonly #settings: LinkSettings;
  readonly #present: (bytes: Uint8Array) => Uint8Array;
  #connection: Connection | undefined;
  #closed: IggyError | undefined;
  readonly #assembler: FrameAssembler;
  readonly #header = new ReplyHeader();
  readonly #pending = new Map<number, Pending>();
  readonly #slots = new Permits(maxPendingRequests);
  readonly #unboundSlot = new Permits(1);
  /** Frames that wait for room in the send buffer. Each holds a slot, which bounds them. */
  readonly #writes = new Set<() => void>();
  #full = false;
  /** Requests whose calls wait for them. */
  #awaited = 0;
  #isRetiring = false;

  private constructor(transport: Transport, endpoint: Endpoint, settings: LinkSettings) {
    this.#present = transport.present ?? ((bytes) => bytes);
    this.endpoint = endpoint;
    this.address = endpointText(endpoint);
    this.#settings = settings;
    this.#assembler = new FrameAssembler(settings.maxFrameSize);
  }

  static async open(
    transport: Transport,
    endpoint: Endpoint,
    settings: LinkSettings,
    signal: AbortSignal,
  ): Promise<Link> {
    const link = new Link(transport, endpoint, settings);
    const handlers: ConnectionHandlers = {
      onData: (chunk) => link.#onData(chunk),
      onDrain: () => link.#onDrain(),
      onClose: (error) => link.#end(error),
    };
    link.#connection = await transport.connect(endpoint, handlers, signal);
    return link;
  }

  get isOpen(): boolean {
    return this.#closed === undefined;
  }

  /** Address that the connection led to, where the transport tells it. */
  get remoteHost(): string | undefined {
    return this.#connection?.remoteHost;
  }

  /** Sends a frame and waits for its reply, at most as long as the call lives. */
  async exchange(frame: RequestFrame, scope: Scope, options: ExchangeOptions = {}): Promise<Attempt> {
    const slots = frame.request === 0 ? this.#unboundSlot : this.#slots;
    const pending: Pending = { frame, sent: false, settle: () => undefined };
    try {
      await slots.take(scope);
    } catch (error) {
      return endedAttempt(error, pending);
    }
    this.#awaited++;
    try {
      return await scope.wait<Attempt>((resolve) => this.#start(pending, scope, resolve, options));
    } catch (error) {
      // An answer to an abandoned request without a number could be taken for that of the next one.
      if (pending.sent && frame.request === 0) {
        this.fail(new DisconnectedError("a request without a session was abandoned"));
      }
      return endedAttempt(error, pending);
    } finally {
      slots.give();
      this.#awaited--;
      if (this.#isRetiring && this.#awaited === 0) this.#endSoon();
    }
  }

  #start(pending: Pending, scope: Scope, resolve: (attempt: Attempt) => void, options: ExchangeOptions): () => void {
    if (this.#closed !== undefined || this.#isRetiring) {
      resolve({ kind: "lost", sent: false, error: this.#closed ?? closedError(this.address) });
      return () => undefined;
    }
    const { frame } = pending;
    pending.settle = resolve;
    this.#pending.set(frame.request, pending);
    const write = (): void => {
      if (scope.end !== undefined || this.#closed !== undefined) return;
      pending.sent = true;
      options.onSent?.();
      if (this.#connection?.send(frame.bytes) === false) this.#full = true;
    };
    // Frames leave in the order of asking, so one that finds others waiting waits behind them.
    if (this.#full) this.#writes.add(write);
    else write();
    return () => {
      this.#writes.delete(write);
      if (pending.sent && options.onLate !== undefined) pending.settle = options.onLate;
      else this.#pending.delete(frame.request);
    };
  }

  /** Asks the server to end a waiting read. It answers the read, not this. */
  cancel(frame: RequestFrame): void {
    if (this.#closed !== undefined) return;
    const cancel = new RequestFrame(
      {
        client: frame.client,
        request: frame.request,
        session: frame.session,
        operation: Operation.NonReplicated,
        commandCode: cancelDeferredRequest.code,
        requestChecksum: 0n,
        partitionIncarnation: 0n,
        ownerGeneration: 0n,
        minimumMetadataOp: 0n,
      },
      new Uint8Array(HEADER_SIZE),
    );
    // It follows its request at once, also into a full send buffer: 256 bytes that free a waiting request.
    this.#connection?.send(cancel.bytes);
  }

  /** Takes nothing new, and ends when what waits on the link has its answers. */
  retire(): void {
    this.#isRetiring = true;
    if (this.#awaited === 0) this.#endSoon();
  }

  /** Replies that only settle the outcome of ended calls get a moment. */
  #endSoon(): void {
    if (this.#pending.size === 0) this.close();
    else unref(setTimeout(() => this.close(), lateReplyMs));
  }

  /** Ends the link; what waits on it is lost. */
  close(): void {
    this.#end(undefined);
  }

  /** Ends the link because of a fault. */
  fail(error: IggyError): void {
    this.#end(error);
  }

  #onDrain(): void {
    this.#full = false;
    for (const write of this.#writes) {
      if (this.#isFull()) return;
      this.#writes.delete(write);
      write();
    }
  }

  #isFull(): boolean {
    return this.#full;
  }

  #onData(chunk: Uint8Array): void {
    if (this.#closed !== undefined) return;
    try {
      this.#assembler.push(chunk, (frame) => this.#onFrame(frame));
    } catch (error) {
      this.fail(error instanceof FrameError ? frameFault(error) : asIggyError(error));
    }
  }

  #onFrame(frame: Uint8Array): void {
    if (this.#closed !== undefined) return;
    const header = this.#header.at(frame);
    if (header.command === FrameCommand.Eviction) throw evictionError(frame);
    if (header.command !== FrameCommand.Reply) {
      throw new ProtocolFrameError(ErrorCode.InvalidCommand, `frame command ${String(header.command)} is no answer`);
    }
    const operation = header.operation;
    if (operation !== Operation.NonReplicated && !isPartitionOperation(operation)) {
      this.#settings.onCommit(this, header.commitBig);
    }
    const request = header.request;
    const pending = this.#pending.get(request);
    // A reply that nobody waits for belongs to a call that ended.
    if (pending === undefined) return;
    const judgement = judgeReply(header, this.#present(frame), pending.frame);
    if (judgement.kind === "malformed")
      throw new ProtocolFrameError(ErrorCode.InvalidCommand, `malformed reply: ${judgement.why}`);
    this.#pending.delete(request);
    pending.settle(judgement);
  }

  #end(cause: Error | undefined): void {
    if (this.#closed !== undefined) return;
    const error = cause === undefined ? closedError(this.address) : asIggyError(cause);
    this.#closed = error;
    this.boundFence = undefined;
    this.#connection?.close();
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    this.#writes.clear();
    for (const pending of waiting) pending.settle({ kind: "lost", sent: pending.sent, error });
    this.#settings.onClose(this, cause === undefined ? undefined : error);
  }
}

function endedAttempt(error: unknown, pending: Pending): Attempt {
  if (error instanceof ScopeEnded) return { kind: "ended", sent: pending.sent, end: error.end };
  throw error;
}

const closedError = (address: string): IggyError => new DisconnectedError(`the link to ${address} was closed`);

const frameFault = (error: FrameError): IggyError =>
  new ProtocolFrameError(error.code, `the server sent a malformed frame: ${error.message}`, { cause: error });

function asIggyError(error: unknown): IggyError {
  if (error instanceof IggyError) return error;
  return errorOf(ErrorCode.Disconnected, error instanceof Error ? error.message : String(error), { cause: error });
}
