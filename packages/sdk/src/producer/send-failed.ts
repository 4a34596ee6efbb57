import { ErrorCode } from "@iggy/protocol";
import type { SendConfirmation } from "../api/sends.js";
import { IggyError, ProducerSendFailedError } from "../errors/index.js";
import type { ProducerTopic } from "./outgoing-batch.js";

/** The error of messages without a confirmation; the first `inRequest` of them were part of the request that failed. */
export function sendFailed<Message>(
  cause: unknown,
  { about }: ProducerTopic,
  failed: readonly Message[],
  inRequest: number,
  committed: readonly SendConfirmation[] = [],
): ProducerSendFailedError<Message, SendConfirmation> {
  return new ProducerSendFailedError({
    cause,
    failed,
    uncertain: mayHaveCommitted(cause) ? inRequest : 0,
    committed,
    streamName: String(about.streamId),
    topicName: String(about.topicId),
  });
}

/** Errors after which the messages of the request may be in the topic. */
const mayHaveCommitted = (error: unknown): boolean =>
  IggyError.is(error, ErrorCode.OperationUncertain) || IggyError.is(error, ErrorCode.TransientNotCommitted);
