import type { PolledMessages } from "../values/polled-messages.js";
import type { PollingStrategy } from "../values/polling-strategy.js";
import type { ReadRequest } from "./read-request.js";

/** A read that the application has not taken yet. */
export interface Batch {
  readonly partitionId: number;
  readonly polled: PolledMessages;
}

/** What a scheduler knows of one partition. */
export class PartitionRead {
  readonly id: number;
  /** Where the next request starts. */
  position: PollingStrategy;
  /** The request that reads it now. A reply of any other request is none of its business. */
  request: ReadRequest | undefined;
  /** Replica that leads it, as of the last look. */
  primary: number | undefined;
  isLocating = false;
  /** Time before which it is not read, ms. */
  notBefore = -Infinity;
  /** Not read again until it is sought or assigned anew. */
  isStopped = false;
  /** The application wants nothing of it now. */
  isPaused = false;
  /** Those who handle its messages are behind. */
  isHeld = false;
  /** More is known to wait behind the position. */
  hasBacklog = false;
  /** Messages that are read one by one, to find the one that does not decode. */
  careful = 0;
  /** It is read alone once, without a wait, to learn whose refusal a grouped read met. */
  isSuspect = false;
  /** Order of the last delivery; who had the last turn comes last. */
  deliveredAt = 0;
  lastReadAt = -Infinity;
  /** Wall-clock time of the last answer, ms. */
  answeredAt: number | undefined;
  /** Offset of the next message to be read, as of that answer; the position may be one that only the server knows. */
  reached: bigint | undefined;
  /** Offset behind the last message of the partition as of that answer. */
  end: bigint | undefined;

  constructor(id: number, position: PollingStrategy) {
    this.id = id;
    this.position = position;
  }

  /** Whether its batches may be handed over. */
  get isWelcome(): boolean {
    return !this.isPaused && !this.isHeld;
  }

  get isActive(): boolean {
    return !this.isStopped && !this.isPaused && !this.isHeld;
  }

  /** Whether it is read with a request of its own: grouped reads start at offsets, and answer in groups. */
  get isAlone(): boolean {
    const { kind } = this.position;
    return this.careful > 0 || this.isSuspect || kind === "timestamp" || kind === "last";
  }

  /** Starts over from elsewhere. */
  move(position: PollingStrategy): void {
    this.position = position;
    this.request = undefined;
    this.notBefore = -Infinity;
    this.isStopped = false;
    this.hasBacklog = false;
    this.careful = 0;
    this.isSuspect = false;
    this.reached = undefined;
    this.end = undefined;
  }
}
