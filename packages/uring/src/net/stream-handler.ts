import type { Block } from "../memory/index.js";

/** Room for the next bytes of a stream. The same object may be returned every time. */
export interface ReceiveBuffer {
  readonly block: Block;
  /** Within the block. */
  readonly offset: number;
  readonly length: number;
  /** Report only when all of it has arrived, or the stream ends: the rest of a large frame. */
  readonly exact: boolean;
}

/** What a stream tells, never from inside one of its own methods. */
export interface StreamHandler {
  /** Where the next bytes go; undefined, when there is no memory, makes the stream wait until `resume()`. */
  buffer(): ReceiveBuffer | undefined;
  /** So many bytes lie in the buffer that was asked for last. */
  received(bytes: number): void;
  /** The peer ended its side, or the connection broke and is being closed. Nothing is received afterwards. */
  ended(error: Error | undefined): void;
  /**
   * The descriptor is closed, every `done` was called, and no block is in use any more. With what broke the connection,
   * if something did; the peer's end may have been reported before.
   */
  closed(error: Error | undefined): void;
}
