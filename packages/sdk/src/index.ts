import { ClientCore, connected } from "./client/client.js";
import type { ClientConfig } from "./client/config.js";
import { nodePlatform } from "./client/node-platform.js";
import type { CallOptions } from "./api/caller.js";
import { ClientPoolCore, type ClientPoolOptions } from "./pool/index.js";
import { streamBuilders } from "./stream-pair/index.js";

export * from "./public.js";
export {
  type GroupConsumerStreamOptions,
  groupConsumerStream,
  type SingleConsumerStreamOptions,
  singleConsumerStream,
} from "./client/poll-streams.js";
export type {
  StreamConsumer,
  StreamConsumerOptions,
  StreamPair,
  StreamProducer,
  StreamProducerOptions,
} from "./stream-pair/index.js";

/** A client for Node.js: TCP, TLS and WebSocket. */
export class Client extends ClientCore {
  /** Takes a configuration, or a connection string. Connects with the first call. */
  constructor(config: ClientConfig | string = {}) {
    super(config, nodePlatform);
  }
}

/** The name that earlier clients gave a client with one connection. */
export const SingleClient = Client;

/** Makes a client and connects it. */
export const connect = (config: ClientConfig | string = {}, options?: CallOptions): Promise<Client> =>
  connected(new Client(config), options);

/** Sessions of one configuration: calls spread over them, what belongs to a session stays on one. */
export class ClientPool extends ClientPoolCore {
  constructor(config: ClientConfig | string = {}, options: ClientPoolOptions = {}) {
    super(() => new Client(config), options);
  }
}

/** Makes a client. */
export const getClient = (config: ClientConfig | string = {}): Client => new Client(config);

/** Set up client, stream, topic, producer and consumer in one call. */
export const { createStreamPair, createStreamProducer, createStreamConsumer } = streamBuilders(Client);
