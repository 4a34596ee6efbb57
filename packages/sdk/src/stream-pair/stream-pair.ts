import { ErrorCode } from "@iggy/protocol";
import type { ClientCore } from "../client/client.js";
import type { ClientConfig } from "../client/config.js";
import type { MessageConsumer } from "../consumer/consumer.js";
import type { ConsumerGroupOptions, ConsumerOptions } from "../consumer/consumer-options.js";
import { ValidationError } from "../errors/index.js";
import type { Producer } from "../producer/producer.js";
import type { ProducerOptions } from "../producer/producer-options.js";
import type { Id } from "../values/id.js";

interface Place {
  readonly stream: Id;
  readonly topic: Id;
}

export interface StreamProducerOptions extends Place {
  readonly producer?: Omit<ProducerOptions, "streamId" | "topicId">;
}

export interface StreamConsumerOptions extends Place {
  /** A consumer group, of the topic's name when it has none. The default. */
  readonly consumer?: Omit<ConsumerGroupOptions, "streamId" | "topicId" | "name"> & { readonly name?: Id };
  /** A consumer without a group in its place; it reads partition 0 when it names none. */
  readonly standalone?: Omit<ConsumerOptions, "streamId" | "topicId" | "partitions"> & {
    readonly partitions?: readonly number[];
  };
}

/** Ends the producer and the consumer; and the client, when it was made for them. */
interface Made<Client> extends AsyncDisposable {
  readonly client: Client;
}

export interface StreamProducer<Client> extends Made<Client> {
  readonly producer: Producer;
}

export interface StreamConsumer<Client> extends Made<Client> {
  readonly consumer: MessageConsumer;
}

export interface StreamPair<Client> extends Made<Client> {
  readonly producer: Producer;
  readonly consumer: MessageConsumer;
}

/** A client, a configuration of one, or a connection string. */
type ClientSource<Client> = Client | ClientConfig | string;

/**
 * Functions that set up everything between a connection string and the first message: client, stream, topic, producer and
 * consumer, ready for use.
 */
export interface StreamBuilders<Client> {
  readonly createStreamProducer: (
    from: ClientSource<Client>,
    options: StreamProducerOptions,
  ) => Promise<StreamProducer<Client>>;
  readonly createStreamConsumer: (
    from: ClientSource<Client>,
    options: StreamConsumerOptions,
  ) => Promise<StreamConsumer<Client>>;
  /** Stream and topic are created when they are missing, with the producer's options. */
  readonly createStreamPair: (
    from: ClientSource<Client>,
    options: StreamProducerOptions & StreamConsumerOptions,
  ) => Promise<StreamPair<Client>>;
}

/** The builders of a runtime, by its class of clients. */
export function streamBuilders<Client extends ClientCore>(
  Class: new (config: ClientConfig | string) => Client,
): StreamBuilders<Client> {
  const isClient = (from: ClientSource<Client>): from is Client => from instanceof Class;
  /** Sets up with a client that is there, or with one of its own that ends when that fails. */
  const withClient = async <Parts>(
    from: ClientSource<Client>,
    setUp: (client: Client) => Promise<Parts & { readonly closables: readonly Closable[] }>,
  ): Promise<Omit<Parts, "closables"> & Made<Client>> => {
    const isGiven = isClient(from);
    const client = isGiven ? from : new Class(from);
    try {
      const { closables, ...parts } = await setUp(client);
      return {
        ...parts,
        client,
        [Symbol.asyncDispose]: async () => {
          for (const closable of closables) await closable.close();
          if (!isGiven) await client.close();
        },
      };
    } catch (error) {
      if (!isGiven) await client.destroy();
      throw error;
    }
  };
  return {
    createStreamProducer: (from, options) =>
      withClient(from, async (client) => {
        const producer = await startedProducer(client, options);
        return { producer, closables: [producer] };
      }),
    createStreamConsumer: (from, options) =>
      withClient(from, async (client) => {
        const consumer = await startedConsumer(client, options);
        return { consumer, closables: [consumer] };
      }),
    createStreamPair: (from, options) =>
      withClient(from, async (client) => {
        const producer = await startedProducer(client, options);
        try {
          const consumer = await startedConsumer(client, options);
          return { producer, consumer, closables: [producer, consumer] };
        } catch (error) {
          await producer.close();
          throw error;
        }
      }),
  };
}

interface Closable {
  close(): Promise<void>;
}

async function startedProducer(
  client: ClientCore,
  { stream, topic, producer: options }: StreamProducerOptions,
): Promise<Producer> {
  const producer = client.producer({ ...options, streamId: stream, topicId: topic });
  try {
    await producer.init();
    return producer;
  } catch (error) {
    await producer.close();
    throw error;
  }
}

async function startedConsumer(client: ClientCore, options: StreamConsumerOptions): Promise<MessageConsumer> {
  const consumer = consumerOf(client, options);
  try {
    await consumer.init();
    return consumer;
  } catch (error) {
    await consumer.close();
    throw error;
  }
}

function consumerOf(
  client: ClientCore,
  { stream, topic, consumer, standalone }: StreamConsumerOptions,
): MessageConsumer {
  const place = { streamId: stream, topicId: topic };
  if (standalone === undefined) return client.consumerGroup({ name: topic, ...consumer, ...place });
  if (consumer !== undefined) {
    throw new ValidationError(ErrorCode.InvalidConfiguration, "options name both consumer, a group, and standalone");
  }
  return client.consumer({ partitions: [0], ...standalone, ...place });
}
