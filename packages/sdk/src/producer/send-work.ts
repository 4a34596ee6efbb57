import type { CallOptions } from "../api/caller.js";
import type { Partitioning } from "../values/partitioning.js";
import type { ProducerTopic } from "./outgoing-batch.js";
import type { PreparedSend, ProducerMessage } from "./prepared-send.js";

/** One call of `send`. */
export interface SendWork {
  readonly topic: ProducerTopic;
  readonly messages: readonly ProducerMessage<unknown>[];
  readonly partitioning: Partitioning;
  readonly options: CallOptions;
}

/** What a producer does with its calls, apart from how requests leave. */
export interface SendSteps {
  /** Makes missing streams and topics, once. Undefined when there is nothing left to do. */
  readonly initialized: (work: SendWork) => Promise<void> | undefined;
  readonly prepared: (work: SendWork) => PreparedSend | Promise<PreparedSend>;
  /** Encrypts; undefined without an encryptor. */
  readonly sealed: ((send: PreparedSend) => Promise<PreparedSend>) | undefined;
}
