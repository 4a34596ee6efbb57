import { MessageConsumer } from "../consumer/consumer.js";
import {
  type ConsumerGroupOptions,
  type ConsumerOptions,
  consumerSettings,
  type ConsumerSettings,
  groupSettings,
  type TypedPayload,
} from "../consumer/consumer-options.js";
import type { TopicApi } from "../api/topics.js";
import type { Encryptor } from "../encryption/index.js";
import type { Producer } from "../producer/producer.js";
import type { ProducerOptions } from "../producer/producer-options.js";
import { PartitionReader, type PartitionReaderOptions, readerSettings, type ReadingParts } from "../reader/index.js";
import type { Random } from "../time/backoff.js";
import type { Platform } from "./platform.js";

/** What a client reads with. */
interface ReadersParts extends ReadingParts {
  readonly topics: TopicApi;
  readonly producer: (options: ProducerOptions) => Producer;
  readonly encryptor: Encryptor | undefined;
  readonly platform: Platform;
  readonly random: Random;
}

/** Something that ends with its client. */
interface Closable {
  close(options: { readonly graceful: boolean }): Promise<void>;
}

/** Makes the consumers and readers of one client, and keeps those that are open. */
export class Readers {
  readonly #parts: ReadersParts;
  readonly #open: Set<Closable>;

  constructor(parts: ReadersParts, open: Set<Closable>) {
    this.#parts = parts;
    this.#open = open;
  }

  consumer<Value>(options: ConsumerOptions & Partial<TypedPayload<Value>>): MessageConsumer<Value> {
    return this.#consume(consumerSettings(options, this.#parts.encryptor));
  }

  consumerGroup<Value>(options: ConsumerGroupOptions & Partial<TypedPayload<Value>>): MessageConsumer<Value> {
    return this.#consume(groupSettings(options, this.#parts.encryptor));
  }

  async reader(options: PartitionReaderOptions): Promise<PartitionReader> {
    const reader = new PartitionReader(readerSettings(options, this.#parts.encryptor), {
      ...this.#parts,
      onClose: (closed) => this.#open.delete(closed),
    });
    this.#open.add(reader);
    return reader.start();
  }

  #consume<Value>(settings: ConsumerSettings): MessageConsumer<Value> {
    const { platform } = this.#parts;
    const consumer: MessageConsumer<Value> = new MessageConsumer<Value>(settings, {
      ...this.#parts,
      scope: platform.makeScope?.(),
      readable: platform.readable,
      onClose: () => this.#open.delete(consumer),
    });
    this.#open.add(consumer);
    return consumer;
  }
}
