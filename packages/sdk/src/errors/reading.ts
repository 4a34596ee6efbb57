import type { PartitionContext } from "@iggy/protocol";
import type { PollingStrategy } from "../values/polling-strategy.js";
import { DeserializeError } from "./classes.js";
import { type ErrorDetails, IggyError } from "./iggy-error.js";

/** What a reply held that does not decode. */
export interface UndecodedReply {
  readonly partitionId: number;
  readonly context: PartitionContext;
  readonly messagesCount: number;
  /** Offset of its first message, where that can be told. */
  readonly firstOffset: bigint | undefined;
  readonly records: Uint8Array;
}

/** Messages of a reply that do not decode, or that differ from their checksums. */
export class UndecodableMessagesError extends DeserializeError {
  static override readonly className: string = "UndecodableMessagesError";
  // Private: what is printed of an error must not show payloads.
  readonly #reply: UndecodedReply;

  constructor(code: number, message: string, reply: UndecodedReply, details?: ErrorDetails) {
    super(code, message, details);
    this.#reply = reply;
  }

  get reply(): UndecodedReply {
    return this.#reply;
  }
}

/** A message that a reader could not hand over. */
export interface UnreadableRecord {
  readonly offset?: bigint;
  /** As it came: with the header of its batch, or the payload alone when that can not be decrypted. */
  readonly bytes: Uint8Array;
}

interface ReadErrorDetails {
  /** Absent when the error concerns several partitions, or the membership of a group. */
  readonly partitionId: number | undefined;
  readonly error: IggyError;
  readonly skip?: PollingStrategy | undefined;
  readonly record?: UnreadableRecord | undefined;
  readonly isLastingRefusal?: boolean;
}

/**
 * A partition could not be read. The reader stays usable and tries again, unless the text says that the partition
 * stopped: then `seek` starts it again.
 */
export class ReadError extends IggyError {
  static override readonly className: string = "ReadError";
  readonly partitionId: number | undefined;
  /** What the read ended with. It has the same code. */
  readonly error: IggyError;
  /** The same refusal came too often in a row. */
  readonly isLastingRefusal: boolean;
  /** Where the reading goes on behind a message that can not be read: `seek(partitionId, skip)`. */
  readonly skip: PollingStrategy | undefined;
  readonly #record: UnreadableRecord | undefined;

  constructor(message: string, details: ReadErrorDetails) {
    const { partitionId, error } = details;
    super(error.code, `${message}: ${error.message}`, {
      cause: error,
      hint: error.hint,
      context: partitionId === undefined ? error.context : { ...error.context, partitionId },
    });
    this.partitionId = partitionId;
    this.error = error;
    this.skip = details.skip;
    this.isLastingRefusal = details.isLastingRefusal ?? false;
    this.#record = details.record;
  }

  get record(): UnreadableRecord | undefined {
    return this.#record;
  }
}
