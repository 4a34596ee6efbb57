import type { CallOptions } from "../api/caller.js";
import type { Message } from "../values/message.js";
import type { Checkpoint } from "../values/position.js";

/** One message as a consumer hands it over. */
export interface Received<Value = Uint8Array> {
  readonly message: Message;
  readonly partitionId: number;
  /** Offset of the last message of the partition when the read was served. */
  readonly currentOffset: bigint;
  /** Messages of the partition behind this one. */
  readonly lag: bigint;
  readonly checkpoint: Checkpoint;
  /** The payload as the consumer's `payload` codec reads it; the bytes without one. Fails as the codec does. */
  value(): Value | Promise<Value>;
  /** Stores the position of this message. */
  commit(options?: CallOptions): Promise<void>;
  /** Counts this message as consumed, under `Auto` with `after: "marked"`. */
  mark(): void;
}
