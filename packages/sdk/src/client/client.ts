import type { JsonValue } from "@iggy/protocol";
import { Assignments } from "../api/assignments.js";
import { Caller, type CallOptions } from "../api/caller.js";
import { ClientApi } from "../api/clients.js";
import { ClusterApi } from "../api/cluster.js";
import { FetchCalls } from "../api/fetches.js";
import { GroupApi } from "../api/groups.js";
import { MessageApi } from "../api/messages.js";
import { OffsetApi } from "../api/offsets.js";
import type { MessageDefaults } from "../api/outgoing-messages.js";
import { OperationApi } from "../api/operations.js";
import { PartitionApi, SegmentApi } from "../api/partitions.js";
import { PollCalls } from "../api/polls.js";
import { RawCalls, type RawOptions } from "../api/raw.js";
import { SendCalls } from "../api/sends.js";
import { inTime, SessionApi, type SessionFace } from "../api/session.js";
import { StreamApi } from "../api/streams.js";
import { SystemApi } from "../api/system.js";
import { TokenApi } from "../api/tokens.js";
import { TopicApi } from "../api/topics.js";
import { UserApi } from "../api/users.js";
import { CallEngine } from "../calls/engine.js";
import type { MessageConsumer } from "../consumer/consumer.js";
import type { ConsumerGroupOptions, ConsumerOptions, TypedPayload } from "../consumer/consumer-options.js";
import { checkedEncryptor } from "../encryption/index.js";
import { ClientShutdownError, FeatureUnavailableError } from "../errors/index.js";
import { Producer } from "../producer/producer.js";
import type { ProducerDefaults, ProducerOptions, TypedProducerOptions } from "../producer/producer-options.js";
import { binaryOnly, type HttpParts } from "../http/http-parts.js";
import { FrameBuffers } from "../link/index.js";
import { MetadataApi } from "../metadata/index.js";
import type { PartitionReader, PartitionReaderOptions } from "../reader/index.js";
import { PartitionRoutes } from "../routing/partition-routes.js";
import { RouteCache } from "../routing/route-cache.js";
import { Connector } from "../session/connector.js";
import type { ClientEventName, ClientEvents } from "../session/events.js";
import { Heartbeat } from "../session/heartbeat.js";
import { LinkCalls } from "../session/link-calls.js";
import { RequestNumbers } from "../session/request-numbers.js";
import { Session } from "../session/session.js";
import { SignInSource } from "../session/sign-in-source.js";
import type { TransportProtocol } from "../transport/index.js";
import { bytes, type BytesLike } from "../values/check.js";
import { RandomIds } from "../values/random-ids.js";
import type { ClientConfig } from "./config.js";
import { parseConnectionString } from "./connection-string.js";
import { type ClientEvent, Emitter } from "./emitter.js";
import { guardedInstrumentation } from "./instrumentation.js";
import type { Platform } from "./platform.js";
import { Readers } from "./readers.js";
import { httpPartsOf } from "./http-config.js";
import { type Settings, settingsOf } from "./settings.js";

export interface ConnectionInfo {
  readonly protocol: TransportProtocol;
  readonly serverAddress: string;
}

/** Something of a client that ends with it. */
interface Closable {
  close(options: { readonly graceful: boolean }): Promise<void>;
}

/**
 * A client: one session, shared by everything that is made from it. The first call connects; `close()` or `await using`
 * ends it. Nothing of it shows its credentials.
 */
export class ClientCore implements AsyncDisposable {
  readonly session: SessionFace;
  readonly user: UserApi;
  readonly token: TokenApi;
  readonly system: SystemApi;
  readonly cluster: ClusterApi;
  readonly client: ClientApi;
  readonly stream: StreamApi;
  readonly topic: TopicApi;
  readonly partition: PartitionApi;
  readonly segment: SegmentApi;
  readonly group: GroupApi;
  readonly offset: OffsetApi;
  readonly message: MessageApi;
  readonly operation: Pick<OperationApi, keyof OperationApi>;
  readonly metadata: MetadataApi;

  readonly #settings: Settings;
  readonly #connector: Connector;
  readonly #raw: RawCalls;
  readonly #emitter = new Emitter();
  readonly #closables = new Set<Closable>();
  readonly #engine: CallEngine;
  readonly #sends: SendCalls;
  readonly #readers: Readers;
  readonly #producerDefaults: ProducerDefaults;
  readonly #platform: Platform;
  readonly #defaults: MessageDefaults;
  readonly #http: HttpParts | undefined;
  #closing: Promise<void> | undefined;

  constructor(configuration: ClientConfig | string, platform: Platform) {
    const config = typeof configuration === "string" ? parseConnectionString(configuration) : configuration;
    const settings = settingsOf(config);
    this.#settings = settings;
    this.#platform = platform;
    const { emit } = this.#emitter;
    const { random } = settings;

    const session = new Session();
    const numbers = new RequestNumbers();
    const buffers = new FrameBuffers();
    const source = new SignInSource(config.credentials);
    const linkCalls = new LinkCalls(session, numbers, settings.sdk, random);
    const heartbeat = new Heartbeat({
      intervalMs: settings.heartbeatIntervalMs,
      links: () => connector.heartbeatLinks(),
      ping: (link, scope) => connector.ping(link, scope),
      onBeat: (durationMs) => emit("heartbeat", { durationMs }),
      onTick: (timeoutMs) => {
        connector.restartLinks();
        void assignments.refresh(timeoutMs);
      },
    });
    const connector = new Connector(
      {
        transport: () => platform.loadTransport(settings.transport, config),
        endpoints: settings.endpoints,
        reconnect: settings.reconnect,
        maxFrameSize: settings.maxFrameSize,
        random,
        emit,
        onSessionReset: () => {
          engine.dropSession();
          assignments.clear();
        },
        onReady: (isNewLink) => heartbeat.start({ beatNow: isNewLink }),
        onDown: () => heartbeat.stop(),
      },
      session,
      linkCalls,
      source,
    );
    const routeCache = new RouteCache({
      onMoved: ({ partition, primaryReplica }, previous) =>
        emit("route-moved", {
          streamId: partition.streamId.value,
          topicId: partition.topicId.value,
          partitionId: partition.partitionId,
          replicaId: primaryReplica,
          previous,
        }),
    });
    const routes = new PartitionRoutes(routeCache, connector, session, numbers, random, buffers);
    const instrumentation = guardedInstrumentation(config.instrumentation, emit);
    const engine = new CallEngine(
      { session, numbers, router: connector, routes, random, instrumentation },
      {
        maxOperations: settings.maxOperations,
        maxBytes: settings.maxBytes,
        autoResolve: settings.autoResolve,
        emit,
        lastError: () => connector.lastError,
      },
    );
    const caller = new Caller(engine, buffers);
    const encryptor = checkedEncryptor("encryptor", config.encryptor);
    const sends = new SendCalls(caller, routes, session);
    const polls = new PollCalls(caller, settings);
    const fetches = new FetchCalls(caller, routes, settings);

    this.#connector = connector;
    this.#engine = engine;
    this.#sends = sends;
    this.#producerDefaults = { partitioner: config.partitioner, encryptor };
    this.#defaults = { clock: settings.clock, ids: new RandomIds(), encryptor };
    this.#raw = new RawCalls(caller, connector, routes);
    const http = httpPartsOf(config, settings, this.#defaults);
    this.#http = http;
    this.session = http?.session ?? new SessionApi(connector, session);
    this.user = http?.user ?? new UserApi(caller, { source, userId: () => session.userId });
    this.token = http?.token ?? new TokenApi(caller);
    this.system =
      http?.system ??
      new SystemApi(caller, (options) =>
        inTime("system.ping", options, connector, (scope) => connector.pingAny(scope)),
      );
    this.cluster = http?.cluster ?? new ClusterApi(caller, routes);
    this.client = http?.client ?? new ClientApi(caller);
    this.stream = http?.stream ?? new StreamApi(caller);
    this.topic = http?.topic ?? new TopicApi(caller);
    this.partition = http?.partition ?? new PartitionApi(caller);
    this.segment = http?.segment ?? new SegmentApi(caller);
    this.group = http?.group ?? new GroupApi(caller);
    this.offset = http?.offset ?? new OffsetApi(caller);
    const assignments = new Assignments(this.group);
    this.message =
      http?.message ??
      new MessageApi(sends, polls, fetches, assignments, this.#defaults, (options) => this.reader(options));
    const operations = new OperationApi(engine);
    this.operation = http?.operation ?? operations;
    this.metadata = new MetadataApi((call, options) => this.system.getMetadataChanges(call, options), this.#closables);
    this.#readers = new Readers(
      {
        polls,
        fetches,
        offsets: this.offset,
        groups: this.group,
        topics: this.topic,
        operations,
        producer: (options) => this.producer(options),
        onSessionReset: (listener) => {
          this.#emitter.on("sessionReset", listener);
          return () => this.#emitter.off("sessionReset", listener);
        },
        encryptor: encryptor,
        platform,
        random,
      },
      this.#closables,
    );
  }

  /** Connects and signs in. Optional: the first call does it as well. Callers at the same time share one attempt. */
  async connect(options?: CallOptions): Promise<this> {
    if (this.#http !== undefined) {
      await this.#http.connect(options);
      return this;
    }
    await inTime("connect", options, this.#connector, (scope) => this.#connector.connect(scope));
    return this;
  }

  /**
   * Ends session and links, and forgets an explicit login. Nothing connects until `connect()` or a login. HTTP has no
   * connection to end.
   */
  async disconnect(): Promise<void> {
    if (this.#http === undefined) await this.#connector.disconnect();
  }

  /** Ends the client for good: producers flush, consumers leave their groups, links close. */
  close({ graceful = true }: { readonly graceful?: boolean } = {}): Promise<void> {
    this.#closing ??= this.#close(graceful);
    return this.#closing;
  }

  /** Ends the client at once: nothing is flushed, no group is left. */
  destroy(): Promise<void> {
    return this.close({ graceful: false });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  getConnectionInfo(): ConnectionInfo {
    const serverAddress = this.#http === undefined ? this.#connector.address : new URL(this.#http.url).host;
    return { protocol: protocols[this.#settings.transport], serverAddress };
  }

  /** Sends messages to one topic. Nothing is sent or created before its `init` or first send. */
  producer(options: ProducerOptions): Producer;
  producer<Value>(options: TypedProducerOptions<Value>): Producer<Value>;
  producer(options: ProducerOptions): Producer<unknown> {
    this.#needBinary("producer");
    const producer = new Producer<unknown>(options, {
      sends: this.#sends,
      stream: this.stream,
      topic: this.topic,
      messages: this.#defaults,
      defaults: this.#producerDefaults,
      maxPendingBytes: this.#settings.maxBytes,
      abandon: (id) => this.#engine.abandon(id),
      onError: (error) => this.#emitter.emit("error", { error }),
      onClose: (closed) => this.#closables.delete(closed),
      writable: this.#platform.writable,
    });
    this.#closables.add(producer);
    return producer;
  }

  /** Reads partitions of a topic as a consumer of its own. */
  consumer<Value>(options: ConsumerOptions & TypedPayload<Value>): MessageConsumer<Value>;
  consumer(options: ConsumerOptions): MessageConsumer;
  consumer<Value>(options: ConsumerOptions & Partial<TypedPayload<Value>>): MessageConsumer<Value> {
    this.#needBinary("consumer");
    return this.#readers.consumer(options);
  }

  /** Reads the partitions that a consumer group gives to this client. */
  consumerGroup<Value>(options: ConsumerGroupOptions & TypedPayload<Value>): MessageConsumer<Value>;
  consumerGroup(options: ConsumerGroupOptions): MessageConsumer;
  consumerGroup<Value>(options: ConsumerGroupOptions & Partial<TypedPayload<Value>>): MessageConsumer<Value> {
    this.#needBinary("consumerGroup");
    return this.#readers.consumerGroup(options);
  }

  /**
   * Reads up to 1000 partitions batch by batch: those it names, or as a member of an existing group, which it joins
   * before this resolves.
   */
  async reader(options: PartitionReaderOptions): Promise<PartitionReader> {
    this.#needBinary("reader");
    return this.#readers.reader(options);
  }

  /** Sends a request whose payload is already encoded. Resolves with the payload of the reply. */
  async sendBinaryRequest(code: number, payload: BytesLike, options?: RawOptions): Promise<Uint8Array> {
    this.#needBinary("sendBinaryRequest");
    return this.#raw.send(code, bytes("payload", payload), options);
  }

  /** The same to one replica, for commands that any node serves. */
  async sendBinaryRequestToReplica(
    code: number,
    payload: BytesLike,
    replicaId: number,
    options?: CallOptions,
  ): Promise<Uint8Array> {
    this.#needBinary("sendBinaryRequestToReplica");
    return this.#raw.sendToReplica(code, bytes("payload", payload), replicaId, options);
  }

  /** HTTP clients only: a request of one's own with the token of the client. Resolves with the body of the answer. */
  async sendHttpRequest(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    body?: JsonValue,
    options?: CallOptions,
  ): Promise<Uint8Array> {
    if (this.#http !== undefined) {
      return this.#http.request({ method, path, ...(body === undefined ? {} : { body }) }, options);
    }
    throw new FeatureUnavailableError("sendHttpRequest needs a client with the transport HTTP");
  }

  on<Name extends ClientEventName>(name: Name, listener: (event: ClientEvents[Name]) => void): this {
    this.#emitter.on(name, listener);
    return this;
  }

  off<Name extends ClientEventName>(name: Name, listener: (event: ClientEvents[Name]) => void): this {
    this.#emitter.off(name, listener);
    return this;
  }

  once<Name extends ClientEventName>(name: Name, listener: (event: ClientEvents[Name]) => void): this {
    const first = (event: ClientEvents[Name]): void => {
      this.#emitter.off(name, first);
      listener(event);
    };
    return this.on(name, first);
  }

  /** Every event from now on, until the client shuts down. A slow reader loses the oldest and is told how many. */
  events({ buffer = 1000 }: { readonly buffer?: number } = {}): AsyncIterable<ClientEvent> {
    return this.#emitter.events(buffer);
  }

  toJSON(): Record<string, unknown> {
    return { transport: this.#settings.transport, ...this.getConnectionInfo(), state: this.#connector.phase };
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    const { transport } = this.#settings;
    return `Client { ${transport} ${this.#connector.address}, ${this.#connector.phase} }`;
  }

  #needBinary(what: string): void {
    if (this.#http !== undefined) throw binaryOnly(what);
  }

  async #close(graceful: boolean): Promise<void> {
    this.#http?.close();
    const closing = Promise.allSettled([...this.#closables].map((closable) => closable.close({ graceful })));
    if (graceful) await closing;
    await this.#connector.close();
    this.#engine.close(new ClientShutdownError());
    await closing;
  }
}

const protocols: Readonly<Record<Settings["transport"], TransportProtocol>> = {
  TCP: "tcp",
  TLS: "tcp",
  WS: "ws",
  WSS: "ws",
  QUIC: "quic",
  HTTP: "http",
  HTTPS: "http",
};

/** Connects a new client; one that fails to is ended. */
export async function connected<Core extends ClientCore>(client: Core, options?: CallOptions): Promise<Core> {
  try {
    return await client.connect(options);
  } catch (error) {
    await client.destroy();
    throw error;
  }
}
