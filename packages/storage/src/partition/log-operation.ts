import type { JournalEntry, Memory } from "../contracts.js";
import type { BatchPlace } from "./segment.js";

const NOTHING = new Uint8Array(0);

/** What the header of a batch says; all 0 for an operation that is no batch. */
export interface BatchHead {
  readonly baseOffset: number;
  readonly messagesCount: number;
  readonly timestampMicros: number;
}

/** An operation on its way into the log. Until it is committed it remembers where it went, so that it can be taken away. */
export class LogOperation implements BatchPlace {
  readonly op: number;
  readonly durable: boolean;
  /** Time of the prepare. */
  readonly preparedMicros: number;
  readonly baseOffset: number;
  /** 0 for an operation that is no batch. */
  readonly messagesCount: number;
  /** Append time of the batch. */
  readonly timestampMicros: number;
  /** Of the body. */
  readonly bytes: number;
  header: Uint8Array;
  body: Uint8Array;
  /** What the body lies in, retained from the beginning until somebody takes it over. */
  memory: Memory | undefined;
  segmentStart = 0;
  position = 0;
  journalFile = 0;
  journalEnd = 0;
  chainLow = 0;
  chainHigh = 0;

  constructor(entry: JournalEntry, durable: boolean, preparedMicros: number, batch: BatchHead) {
    this.op = entry.op;
    this.durable = durable;
    this.preparedMicros = preparedMicros;
    this.baseOffset = batch.baseOffset;
    this.messagesCount = batch.messagesCount;
    this.timestampMicros = batch.timestampMicros;
    this.bytes = entry.body.length;
    this.header = entry.header;
    this.body = entry.body;
    this.memory = entry.memory;
    entry.memory?.retain();
  }

  get isBatch(): boolean {
    return this.messagesCount > 0;
  }

  /** Bytes that it takes while it waits. */
  get queuedBytes(): number {
    return PREPARE_HEADER_BYTES + this.bytes;
  }

  /** Gives the hold on the memory to the caller. */
  handOver(): Memory | undefined {
    const { memory } = this;
    this.memory = undefined;
    this.header = NOTHING;
    this.body = NOTHING;
    return memory;
  }

  /** The body is not needed any more. */
  release(): void {
    this.handOver()?.release();
  }
}

export const PREPARE_HEADER_BYTES = 256;
