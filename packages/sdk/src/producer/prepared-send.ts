import { MAX_PAYLOAD_SIZE, messageSize, type SendRequestBuilder } from "@iggy/protocol";
import { checkParts, type CreateMessage, encodedHeadersOf, sealedAll } from "../api/outgoing-messages.js";
import { type Encryptor, encryptParts } from "../encryption/index.js";
import type { PayloadCodec } from "../payload/index.js";
import { bytes, type BytesLike, type U64Like, u64, wrongType } from "../values/check.js";
import { encodedHeaders } from "../values/headers.js";
import { type MessageId, toMessageId } from "../values/message-id.js";
import type { RandomIds } from "../values/random-ids.js";

/** A message of a producer: what it carries is bytes, or a value that the producer's codec takes. */
export type ProducerMessage<Payload = BytesLike> = Omit<CreateMessage, "payload"> & { readonly payload: Payload };

/** A message as the request takes it. One without headers is what the caller gave, so it costs nothing. */
interface Form {
  readonly payload: BytesLike;
  readonly id?: MessageId | undefined;
  readonly originTimestamp?: U64Like | undefined;
  /** Encoded. */
  readonly userHeaders?: Uint8Array | undefined;
}

/** The messages of one call of `send`, checked and encoded, before a request is made of them. */
export class PreparedSend {
  /** What the call was given, or what was made of it by encryption: what a failure reports. */
  readonly messages: readonly ProducerMessage<unknown>[];
  readonly #forms: readonly Form[];
  /** Headers of messages that have none of their own. */
  readonly #headers: Uint8Array | undefined;
  readonly #time: bigint | number;
  /** Bytes that the messages take in requests. */
  readonly bytes: number;

  constructor(
    messages: readonly ProducerMessage<unknown>[],
    forms: readonly Form[],
    headers: Uint8Array | undefined,
    time: bigint | number,
  ) {
    this.messages = messages;
    this.#forms = forms;
    this.#headers = headers;
    this.#time = time;
    let size = 0;
    for (const form of forms) size += this.#sizeOf(form);
    this.bytes = size;
  }

  get count(): number {
    return this.#forms.length;
  }

  /** Bytes of one message in a request. */
  sizeAt(index: number): number {
    const form = this.#forms[index];
    return form === undefined ? 0 : this.#sizeOf(form);
  }

  timeAt(index: number): bigint | number {
    return this.#forms[index]?.originTimestamp ?? this.#time;
  }

  /** Writes one message into a request. */
  addTo(request: SendRequestBuilder, index: number, ids: RandomIds): void {
    const form = this.#forms[index];
    if (form === undefined) return;
    request.add(
      form.payload,
      form.userHeaders ?? this.#headers,
      form.originTimestamp ?? this.#time,
      typeof form.id === "bigint" && form.id !== 0n ? form.id : ids.write,
    );
  }

  /** The same messages, encrypted. */
  async sealed(encryptor: Encryptor): Promise<PreparedSend> {
    const sealed = await sealedAll(this.#forms, async (form): Promise<CreateMessage & Form> => {
      const plain = { payload: bytes("payload", form.payload), userHeaders: form.userHeaders ?? this.#headers };
      const { payload, userHeaders } = await encryptParts(encryptor, plain);
      return {
        payload,
        originTimestamp: form.originTimestamp ?? this.#time,
        ...(form.id === undefined ? {} : { id: form.id }),
        ...(userHeaders === undefined ? {} : { userHeaders, rawUserHeaders: userHeaders }),
      };
    });
    return new PreparedSend(sealed, sealed, undefined, this.#time);
  }

  #sizeOf(form: Form): number {
    return messageSize(form.payload, form.userHeaders ?? this.#headers);
  }
}

export interface Preparation {
  readonly codec: PayloadCodec<unknown, unknown> | undefined;
  /** Headers for every message, such as those of a trace. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** When messages were made that do not say so, µs. */
  readonly time: bigint | number;
}

/** Checks and encodes messages. Answers at once unless the codec does not. */
export function prepared(
  messages: readonly ProducerMessage<unknown>[],
  { codec, headers, time }: Preparation,
): PreparedSend | Promise<PreparedSend> {
  checkedList(messages);
  const common = headers === undefined ? undefined : encodedHeaders(headers);
  if (codec === undefined) {
    const forms = messages.every(isPlain)
      ? messages
      : messages.map((message, index) => formOf(message, message.payload, index, headers));
    return new PreparedSend(messages, forms, common, time);
  }
  const finish = (payloads: readonly unknown[]): PreparedSend => {
    const forms = messages.map((message, index) => formOf(message, payloads[index], index, headers));
    return new PreparedSend(messages, forms, common, time);
  };
  const payloads = messages.map(({ payload }) => encoded(codec, payload));
  if (!payloads.some((payload) => payload instanceof Promise)) return finish(payloads);
  return Promise.all(payloads.map((payload) => Promise.resolve(payload))).then(finish);
}

/** What a codec throws for one message must not leave the promises of others alone. */
function encoded(codec: PayloadCodec<unknown, unknown>, value: unknown): BytesLike | Promise<BytesLike> {
  try {
    return codec.encode(value);
  } catch (error) {
    return Promise.reject(error instanceof Error ? error : new Error(String(error)));
  }
}

/** Messages of a caller that may not have looked at the types. */
export function checkedList(messages: unknown): readonly ProducerMessage<unknown>[] {
  if (!Array.isArray(messages)) throw wrongType("messages", "an array", messages);
  const list: readonly unknown[] = messages;
  if (list.every(isMessage)) return list;
  const at = list.findIndex((message) => !isMessage(message));
  throw wrongType(`messages[${String(at)}]`, "an object with a payload", list[at]);
}

const isMessage = (message: unknown): message is ProducerMessage<unknown> =>
  typeof message === "object" && message !== null && "payload" in message;

/** Whether a message goes into a request as it is. What is wrong with one that is not, `formOf` finds out. */
function isPlain(message: ProducerMessage<unknown>): message is CreateMessage {
  const { payload, id, originTimestamp } = message;
  return (
    (typeof payload === "string" || payload instanceof Uint8Array) &&
    payload.length > 0 &&
    3 * payload.length <= MAX_PAYLOAD_SIZE &&
    message.headers === undefined &&
    message.rawUserHeaders === undefined &&
    id === undefined &&
    originTimestamp === undefined &&
    !("userHeaders" in message)
  );
}

function formOf(
  message: ProducerMessage<unknown>,
  payload: unknown,
  index: number,
  common: Readonly<Record<string, string>> | undefined,
): Form {
  const argument = `messages[${String(index)}]`;
  const { id, originTimestamp } = message;
  const encoded = bytes(`${argument}.payload`, payload);
  const userHeaders = encodedHeadersOf(argument, message, common);
  checkParts(argument, { payload: encoded, ...(userHeaders === undefined ? {} : { userHeaders }) });
  return {
    payload: encoded,
    id: toMessageId(id),
    originTimestamp: originTimestamp === undefined ? undefined : u64(`${argument}.originTimestamp`, originTimestamp),
    userHeaders,
  };
}
