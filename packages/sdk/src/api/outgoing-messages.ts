import { checkMessage, ErrorCode, IggyError as ProtocolError, type MessageInput } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { bytes, type BytesLike, type U64Like, u64 } from "../values/check.js";
import { encodedHeaders, type HeaderInputs } from "../values/headers.js";
import { type MessageId, toMessageId } from "../values/message-id.js";
import type { RandomIds } from "../values/random-ids.js";

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

/** What a message gets when its maker says nothing. */
export interface MessageDefaults {
  readonly clock: Clock;
  readonly ids: RandomIds;
}

/** Checks and encodes messages before anything is sent. */
export function toMessageInputs(
  messages: readonly CreateMessage[],
  { clock, ids }: MessageDefaults,
): readonly MessageInput[] {
  if (!Array.isArray(messages)) throw new TypeError("messages takes an array");
  if (messages.length === 0) throw new ValidationError(ErrorCode.InvalidMessagesCount, "a send needs a message");
  const now = clock();
  return messages.map((message: CreateMessage, index) => toMessageInput(message, now, ids, index));
}

function toMessageInput(message: CreateMessage, now: bigint, ids: RandomIds, index: number): MessageInput {
  const argument = `messages[${String(index)}]`;
  const userHeaders = encodedHeaders(message.headers);
  const input: MessageInput = {
    id: toMessageId(message.id) ?? ids.next(),
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
