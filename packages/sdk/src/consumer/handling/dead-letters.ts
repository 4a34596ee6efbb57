import { ErrorCode, utf8Length } from "@iggy/protocol";
import { IggyError } from "../../errors/index.js";
import type { Producer } from "../../producer/producer.js";
import type { HeaderEntry, HeaderInput } from "../../values/headers.js";
import { HeaderValue } from "../../values/headers.js";
import type { Id } from "../../values/id.js";
import type { Received } from "../received.js";

/** Headers that tell where a dead letter comes from. Those of the message itself stay beside them. */
export const DeadLetterHeader = {
  stream: "iggy.dead-letter.stream",
  topic: "iggy.dead-letter.topic",
  partition: "iggy.dead-letter.partition",
  offset: "iggy.dead-letter.offset",
  consumer: "iggy.dead-letter.consumer",
  error: "iggy.dead-letter.error",
  attempts: "iggy.dead-letter.attempts",
  /** Present when the headers of the message left no room for these, and were left out. */
  headersDropped: "iggy.dead-letter.headers-dropped",
} as const;

/** Longest header value, bytes. */
const maxValueBytes = 255;

/** Who handled a message in vain. */
export interface Origin {
  readonly streamId: Id;
  readonly topicId: Id;
  readonly consumer: Id;
}

/** Sends messages that can not be handled to a topic of their own. */
export class DeadLetters {
  readonly #producer: Producer;
  readonly #origin: Origin;

  constructor(producer: Producer, origin: Origin) {
    this.#producer = producer;
    this.#origin = origin;
  }

  async send(received: Received<unknown>, error: unknown, attempts: number, signal: AbortSignal): Promise<void> {
    const { message } = received;
    const told = this.#headers(received, error, attempts);
    const own = new Set<unknown>(Object.values(DeadLetterHeader));
    const original = message.userHeaders.filter(({ key }) => !own.has(key.value));
    const letter = { id: message.id, payload: message.payload, originTimestamp: message.originTimestampMicros };
    try {
      await this.#producer.send({ ...letter, headers: [...original, ...told] }, { signal });
    } catch (cause) {
      if (!IggyError.is(cause, ErrorCode.TooBigUserHeaders)) throw cause;
      const dropped: HeaderEntry = { key: DeadLetterHeader.headersDropped, value: true };
      await this.#producer.send({ ...letter, headers: [...told, dropped] }, { signal });
    }
  }

  async close(graceful: boolean): Promise<void> {
    await this.#producer.close({ graceful });
  }

  #headers({ checkpoint }: Received<unknown>, error: unknown, attempts: number): readonly HeaderEntry[] {
    const { streamId, topicId, consumer } = this.#origin;
    const { partitionId, offset } = checkpoint;
    const entries: readonly (readonly [string, HeaderInput])[] = [
      [DeadLetterHeader.stream, idText(streamId)],
      [DeadLetterHeader.topic, idText(topicId)],
      [DeadLetterHeader.partition, HeaderValue.Uint32(partitionId)],
      [DeadLetterHeader.offset, HeaderValue.Uint64(offset)],
      [DeadLetterHeader.consumer, idText(consumer)],
      [DeadLetterHeader.error, fitting(textOf(error))],
      [DeadLetterHeader.attempts, HeaderValue.Uint32(attempts)],
    ];
    return entries.map(([key, value]) => ({ key, value }));
  }
}

const idText = (id: Id): string => String(id);

const textOf = (error: unknown): string => {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text === "" ? "unknown" : text;
};

/** Cuts a text to what a header takes, between characters. */
function fitting(text: string): string {
  if (utf8Length(text) <= maxValueBytes) return text;
  let cut = "";
  let size = 0;
  for (const character of text) {
    size += utf8Length(character);
    if (size > maxValueBytes) break;
    cut += character;
  }
  return cut;
}
