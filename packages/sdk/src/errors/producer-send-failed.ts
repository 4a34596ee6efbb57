import { ErrorCode } from "@iggy/protocol";
import { ProducerError } from "./classes.js";

interface FailedSend<Message, Confirmation> {
  readonly cause: unknown;
  readonly failed: readonly Message[];
  readonly uncertain: number;
  readonly committed: readonly Confirmation[];
  readonly streamName: string;
  readonly topicName: string;
}

/** 4056: a send of a producer failed part way. */
export class ProducerSendFailedError<Message = unknown, Confirmation = unknown> extends ProducerError {
  static override readonly className: string = "ProducerSendFailedError";
  /** The messages without a confirmation, in order. Printing the error leaves them out: payloads stay out of logs. */
  declare readonly failed: readonly Message[];
  /** How many of the first of them may be in the topic nevertheless. */
  readonly uncertain: number;
  /** Confirmations of what was sent before. */
  readonly committed: readonly Confirmation[];
  readonly streamName: string;
  readonly topicName: string;

  constructor(send: FailedSend<Message, Confirmation>) {
    const { failed, uncertain, committed, streamName, topicName, cause } = send;
    const reason = cause instanceof Error ? `: ${cause.message}` : "";
    super(
      ErrorCode.ProducerSendFailed,
      `${String(failed.length)} messages to ${streamName}/${topicName} are not confirmed${reason}`,
      { cause, context: { streamName, topicName, failed: failed.length, uncertain, committed: committed.length } },
    );
    Object.defineProperty(this, "failed", { value: failed });
    this.uncertain = uncertain;
    this.committed = committed;
    this.streamName = streamName;
    this.topicName = topicName;
  }
}
