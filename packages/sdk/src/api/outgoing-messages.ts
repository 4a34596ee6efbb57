import { checkMessage, ErrorCode, IggyError as ProtocolError, type MessageInput } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { bytes, type BytesLike, type U64Like, u64, wrongType } from "../values/check.js";
import { type Encryptor, encryptParts } from "../encryption/index.js";
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
  /** Headers that are encoded already, in place of `headers`: those of a message that is passed on, or encrypted ones. */
  readonly rawUserHeaders?: Uint8Array;
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
  /** Encrypts what is sent. */
  readonly encryptor: Encryptor | undefined;
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
  const userHeaders = encodedHeadersOf(argument, message);
  const input: MessageInput = {
    id: toMessageId(message.id) ?? ids.next(),
    payload: bytes(`${argument}.payload`, message.payload),
    originTimestamp:
      message.originTimestamp === undefined ? now : u64(`${argument}.originTimestamp`, message.originTimestamp),
    ...(userHeaders === undefined ? {} : { userHeaders }),
  };
  checkParts(argument, input);
  return input;
}

/** The headers of a message as they are sent; undefined without any. */
export function encodedHeadersOf(
  argument: string,
  message: Omit<CreateMessage, "payload">,
  common?: Readonly<Record<string, string>>,
): Uint8Array | undefined {
  const { headers, rawUserHeaders } = message;
  if (rawUserHeaders === undefined) return encodedHeaders(headers, common);
  if (!(rawUserHeaders instanceof Uint8Array)) {
    throw wrongType(`${argument}.rawUserHeaders`, "a Uint8Array", rawUserHeaders);
  }
  if (headers !== undefined) {
    throw new ValidationError(ErrorCode.InvalidCommand, `${argument} has both headers and rawUserHeaders`);
  }
  return rawUserHeaders.length === 0 ? undefined : rawUserHeaders;
}

/** Checks the sizes of a message, before any encryption. */
export function checkParts(argument: string, parts: Pick<MessageInput, "payload" | "userHeaders">): void {
  try {
    checkMessage(parts);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    throw new ValidationError(error.code, `${argument}: ${error.message}`, { context: { argument } });
  }
}

/** Messages encrypted at once: enough to keep the platform busy, few enough to bound what lies in memory twice. */
const sealedAtOnce = 64;

/** Encrypts the parts of messages, in order. */
export async function sealedAll<Message, Sealed>(
  messages: readonly Message[],
  seal: (message: Message) => Promise<Sealed>,
): Promise<Sealed[]> {
  const sealed: Sealed[] = [];
  for (let at = 0; at < messages.length; at += sealedAtOnce) {
    sealed.push(...(await Promise.all(messages.slice(at, at + sealedAtOnce).map(seal))));
  }
  return sealed;
}

/** Messages with payload and headers encrypted. */
export function sealedInputs(messages: readonly MessageInput[], encryptor: Encryptor): Promise<MessageInput[]> {
  return sealedAll(messages, async ({ id, originTimestamp, payload, userHeaders }) => {
    const parts = await encryptParts(encryptor, { payload, userHeaders });
    return {
      ...(id === undefined ? {} : { id }),
      originTimestamp,
      payload: parts.payload,
      ...(parts.userHeaders === undefined ? {} : { userHeaders: parts.userHeaders }),
    };
  });
}
