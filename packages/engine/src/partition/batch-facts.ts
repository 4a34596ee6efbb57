import { BatchView } from "@iggy/protocol";
import type { ProducerBatch } from "./producers.js";

/** What the state machine needs of a batch header. */
export interface BatchFacts {
  /** Offset of the first message, once stamped. */
  readonly baseOffset: number;
  readonly messagesCount: number;
  /** Bytes of header and frames. */
  readonly sizeBytes: number;
  /** Present on batches of idempotent producers. */
  readonly producer: ProducerBatch | undefined;
}

const view = new BatchView();

/** Reads the header at the start of `bytes`; the layout was verified when the batch came in. */
export function readBatchFacts(bytes: Uint8Array): BatchFacts {
  view.at(bytes);
  const messagesCount = view.messageCount;
  const section = view.producer();
  return {
    baseOffset: view.baseOffset,
    messagesCount,
    sizeBytes: view.batchLength,
    producer:
      section === null
        ? undefined
        : { producerId: section.id, epoch: section.epoch, sequence: section.baseSequence, messagesCount },
  };
}
