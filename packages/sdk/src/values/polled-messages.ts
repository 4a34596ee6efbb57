import {
  checkRecords,
  IggyError as ProtocolError,
  MessageCursor,
  type PartitionContext,
  verifyBatch,
} from "@iggy/protocol";
import { UndecodableMessagesError } from "../errors/index.js";
import { Message, Records } from "./message.js";
import { PollingStrategy } from "./polling-strategy.js";
import { Checkpoint, isZeroContext } from "./position.js";

/** What one read of one partition returned. */
export interface ReadReply {
  readonly partitionId: number;
  readonly currentOffset: bigint;
  readonly messagesCount: number;
  readonly context: PartitionContext;
  readonly records: Uint8Array;
  /** Offset behind the last message, where the reply tells it. */
  readonly nextOffset?: bigint;
}

/** How a reply is checked before its messages are handed over. */
export interface ReplyChecks {
  /** Most messages that were asked for. */
  readonly maxCount: number;
  /** Whether every message is hashed and compared with its checksum. */
  readonly verifyChecksums: boolean;
}

/** The messages of one read of one partition, and where to go on. */
export class PolledMessages {
  readonly partitionId: number;
  /** Offset of the last committed message of the partition; 0 also when it is empty. */
  readonly currentOffset: bigint;
  /** The history that served the read. */
  readonly context: PartitionContext;
  readonly #start: PollingStrategy;
  #messages: readonly Message[];

  /** @internal */
  constructor(reply: ReadReply, start: PollingStrategy, checks: ReplyChecks) {
    checkReply(reply, checks);
    this.partitionId = reply.partitionId;
    this.currentOffset = reply.currentOffset;
    this.context = reply.context;
    this.#start = start;
    const records = new Records(reply.records);
    this.#messages = Array.from({ length: reply.messagesCount }, (_, index) => new Message(records, index));
  }

  /** @internal The same read with these messages in the place of its own: decrypted ones, or the first of them. */
  withMessages(messages: readonly Message[]): PolledMessages {
    const { partitionId, currentOffset, context } = this;
    const reply = { partitionId, currentOffset, context, messagesCount: 0, records: new Uint8Array(0) };
    const other = new PolledMessages(reply, this.#start, { maxCount: 0, verifyChecksums: false });
    other.#messages = messages;
    return other;
  }

  get messages(): readonly Message[] {
    return this.#messages;
  }

  get count(): number {
    return this.messages.length;
  }

  /** Checkpoint of the last message; null for an empty read. */
  get checkpoint(): Checkpoint | null {
    return this.messages.length === 0 ? null : this.checkpointAt(this.messages.length - 1);
  }

  /** Checkpoint of one message, by its index in `messages`. */
  checkpointAt(index: number): Checkpoint {
    const message = this.messages[index];
    if (message === undefined) {
      throw new RangeError(`index takes 0 to ${String(this.messages.length - 1)}, got ${String(index)}`);
    }
    return new Checkpoint(this.partitionId, message.offset, this.context);
  }

  /** Where the next read of this partition starts. It holds for this history of the partition only. */
  get continuation(): PollingStrategy {
    const last = this.messages.at(-1);
    // A node that could not serve the read names no history: the start stays as it was.
    if (last === undefined && isZeroContext(this.context)) return this.#start;
    const bound = { partitionId: this.partitionId, context: this.context };
    if (last !== undefined) return PollingStrategy.continuing(PollingStrategy.Offset(last.offset + 1n), bound);
    const start = this.#start.kind === "first" ? PollingStrategy.Offset(0n) : this.#start;
    return PollingStrategy.continuing(start, bound);
  }

  toJSON(): Record<string, unknown> {
    return {
      partitionId: this.partitionId,
      currentOffset: String(this.currentOffset),
      count: this.count,
      messages: this.messages.map((message) => message.toJSON()),
    };
  }
}

function checkReply(reply: ReadReply, checks: ReplyChecks): void {
  const { records, messagesCount, partitionId, context } = reply;
  try {
    if (checks.verifyChecksums) for (let at = 0; at < records.length;) at += verifyBatch(records, at);
    checkRecords(records, messagesCount, checks.maxCount);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    const firstOffset = firstOffsetOf(reply);
    const details = { partitionId, context, messagesCount, firstOffset, records };
    throw new UndecodableMessagesError(
      error.code,
      `messages of partition ${String(partitionId)}: ${error.message}`,
      details,
    );
  }
}

/** Where a damaged reply starts: what stands outside its records says so, else their first header may. */
function firstOffsetOf({ records, nextOffset, messagesCount }: ReadReply): bigint | undefined {
  if (nextOffset !== undefined) return nextOffset - BigInt(messagesCount);
  try {
    const cursor = new MessageCursor().records(records);
    return cursor.next() ? cursor.offsetBig : undefined;
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return undefined;
  }
}
