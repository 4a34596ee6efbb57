/** A piece of memory that is counted. It comes back to its allocator with the last `release`. */
export interface Block {
  /** At least as many bytes as were asked for. */
  readonly bytes: Uint8Array;
  /** Where it lies in its slab. Another thread adopts it by this number. */
  readonly offset: number;
  retain(): void;
  release(): void;
}

/** Where blocks come from. */
export interface BlockSource {
  readonly budgetBytes: number;
  readonly usedBytes: number;
  /** Undefined when the budget, or the memory, is used up. */
  allocate(bytes: number): Block | undefined;
  /** A block that another thread handed over, with the one reference that came with it. */
  adopt(offset: number): Block;
  /** Gives memory that was not used since the last call back to the system; returns the bytes given back. */
  trim(): number;
}

/** What another thread needs to reach the same slab; it can be posted. */
export type SlabHandle =
  | { readonly kind: "mapped"; readonly bytes: number; readonly regions: number }
  | { readonly kind: "shared"; readonly buffers: readonly SharedArrayBuffer[]; readonly regions: number };

/** One range of memory that all threads of the process share, cut into regions of equal size. */
export interface Slab {
  readonly bytes: number;
  readonly regions: number;
  readonly handle: SlabHandle;
  /** Where these bytes lie in the slab, -1 when they are elsewhere. */
  offsetOf(bytes: Uint8Array): number;
  view(offset: number, length: number): Uint8Array;
}

/** What can be said about io_uring on this machine, in one line each. */
export interface Probe {
  readonly addon: boolean;
  readonly ring: boolean;
  readonly reason: string;
  readonly remedy: string;
}

/** Room for the next bytes of a stream. The same object may be returned every time. */
export interface ReceiveBuffer {
  readonly block: Block;
  /** Within the block. */
  readonly offset: number;
  readonly length: number;
  /** Report once all of it has arrived: the rest of a large frame. */
  readonly exact: boolean;
}

export interface StreamHandler {
  /** Where the next bytes go; undefined pauses the stream until `resume()`. */
  buffer(): ReceiveBuffer | undefined;
  received(bytes: number): void;
  /** The peer ended its side, or the connection broke. Nothing is received afterwards. */
  ended(error: Error | undefined): void;
  /** The descriptor is closed; no callback follows and no block is in use any more. */
  closed(): void;
}

/** A connected socket on a ring. */
export interface RingStream {
  readonly descriptor: number;
  readonly peerAddress: string;
  /** Bytes handed over and not yet taken by the kernel. */
  readonly queuedBytes: number;
  /** Milliseconds since the kernel last received something. */
  readonly quietMillis: number;
  /** Sends the pieces back to back; `done` is called in order, once the kernel took them or the stream ended. */
  send(pieces: readonly Uint8Array[], done?: () => void): void;
  pause(): void;
  resume(): void;
  /** Sends what is queued and ends this side. Receiving goes on. */
  end(): void;
  /** Ends both sides at once. */
  destroy(): void;
}

export interface RingListener {
  readonly descriptor: number;
  readonly port: number;
  close(): Promise<void>;
}
