import { ErrorCode } from "@iggy/protocol";
import type { SendConfirmation } from "../api/sends.js";
import { IggyError, ProducerSendFailedError } from "../errors/index.js";
import type { ProducerTopic } from "./outgoing-batch.js";

interface FailedRequest {
  /** How many of the first messages were part of the request that failed. */
  readonly inRequest: number;
  readonly committed?: readonly SendConfirmation[];
  readonly isAborted?: boolean;
}

/** The error of messages without a confirmation. */
export function sendFailed<Message>(
  cause: unknown,
  { about }: ProducerTopic,
  failed: readonly Message[],
  { inRequest, committed = [], isAborted = false }: FailedRequest,
): ProducerSendFailedError<Message, SendConfirmation> {
  return new ProducerSendFailedError({
    cause,
    failed,
    uncertain: isAborted || mayHaveCommitted(cause) ? inRequest : 0,
    committed,
    streamName: String(about.streamId),
    topicName: String(about.topicId),
  });
}

/** Errors after which the messages of the request may be in the topic. */
const mayHaveCommitted = (error: unknown): boolean =>
  IggyError.is(error, ErrorCode.OperationUncertain) || IggyError.is(error, ErrorCode.TransientNotCommitted);
