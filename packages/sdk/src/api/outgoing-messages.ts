import { checkMessage, ErrorCode, IggyError as ProtocolError, type MessageInput } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { bytes, type BytesLike, type U64Like, u64 } from "../values/check.js";
import { encodedHeaders, type HeaderInputs } from "../values/headers.js";
import { type MessageId, toMessageId } from "../values/message-id.js";

/** A message to send. */
export interface CreateMessage {
  /** Random without it. */
  readonly id?: MessageId;
  /** 1 to 64,000,000 bytes; text is sent as UTF-8. */
  readonly payload: BytesLike;
  /** Up to 100,000 bytes encoded. */
  readonly headers?: HeaderInputs;
  /** When the message was made, µs since the epoch; now without it. */
  readonly originTimestamp?: U64Like;
}

/** µs since the epoch. */
export type Clock = () => bigint;

export const systemClock: Clock = () => BigInt(Date.now()) * 1000n;

/** Checks and encodes messages before anything is sent. */
export function toMessageInputs(messages: readonly CreateMessage[], clock: Clock): readonly MessageInput[] {
  if (!Array.isArray(messages)) throw new TypeError("messages takes an array");
  if (messages.length === 0) throw new ValidationError(ErrorCode.InvalidMessagesCount, "a send needs a message");
  const now = clock();
  return messages.map((message: CreateMessage, index) => toMessageInput(message, now, `messages[${String(index)}]`));
}

function toMessageInput(message: CreateMessage, now: bigint, argument: string): MessageInput {
  const userHeaders = encodedHeaders(message.headers);
  const input: MessageInput = {
    id: toMessageId(message.id),
    payload: bytes(`${argument}.payload`, message.payload),
    originTimestamp:
      message.originTimestamp === undefined ? now : u64(`${argument}.originTimestamp`, message.originTimestamp),
    ...(userHeaders === undefined ? {} : { userHeaders }),
  };
  try {
    checkMessage(input);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    throw new ValidationError(error.code, `${argument}: ${error.message}`, { context: { argument } });
  }
  return input;
}
