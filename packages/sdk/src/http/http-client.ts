import type { JsonValue } from "@iggy/protocol";
import type { CallOptions } from "../api/caller.js";
import { systemClock } from "../api/outgoing-messages.js";
import type { ConnectionInfo } from "../client/client.js";
import type { HttpConfig } from "../client/config.js";
import { checkedEncryptor, type Encryptor } from "../encryption/index.js";
import type { CredentialsSource } from "../session/credentials.js";
import type { Random } from "../time/backoff.js";
import { RandomIds } from "../values/random-ids.js";
import { defaultUrl } from "./base-url.js";
import { binaryOnly, HttpParts } from "./http-parts.js";
import type { HttpRequest } from "./routes/index.js";

export interface HttpClientConfig extends HttpConfig {
  /** `http://host:port` or `https://host:port`, nothing behind it; `http://127.0.0.1:3000` without it. */
  readonly url?: string;
  /** Signs in before the first call, and again when the server does not take the token any more. */
  readonly credentials?: CredentialsSource;
  /** Encrypts payloads and user headers before they leave. */
  readonly encryptor?: Encryptor;
  /** Taken for the sake of connection strings: HTTP has no connection that would have to be kept alive. */
  readonly heartbeatInterval?: number;
  /** Numbers from 0 up to 1, for pauses. */
  readonly random?: Random;
}

/** Reads of unknown outcome that a client keeps. */
const maxOperations = 256;

/**
 * A client over HTTP, with the namespaces of `Client`. What HTTP does not have rejects with `FeatureUnavailableError`:
 * members of groups, grouped reads, idempotent sends, readers and consumers, raw binary requests.
 */
export class HttpClient implements AsyncDisposable {
  readonly session: HttpParts["session"];
  readonly user: HttpParts["user"];
  readonly token: HttpParts["token"];
  readonly system: HttpParts["system"];
  readonly cluster: HttpParts["cluster"];
  readonly client: HttpParts["client"];
  readonly stream: HttpParts["stream"];
  readonly topic: HttpParts["topic"];
  readonly partition: HttpParts["partition"];
  readonly segment: HttpParts["segment"];
  readonly group: HttpParts["group"];
  readonly offset: HttpParts["offset"];
  readonly message: HttpParts["message"];
  readonly operation: HttpParts["operation"];
  readonly #parts: HttpParts;

  constructor(config: HttpClientConfig = {}) {
    const parts = new HttpParts({
      ...config,
      url: config.url ?? defaultUrl,
      random: config.random ?? Math.random,
      defaults: {
        clock: systemClock,
        ids: new RandomIds(),
        encryptor: checkedEncryptor("encryptor", config.encryptor),
      },
      maxOperations,
    });
    this.#parts = parts;
    this.session = parts.session;
    this.user = parts.user;
    this.token = parts.token;
    this.system = parts.system;
    this.cluster = parts.cluster;
    this.client = parts.client;
    this.stream = parts.stream;
    this.topic = parts.topic;
    this.partition = parts.partition;
    this.segment = parts.segment;
    this.group = parts.group;
    this.offset = parts.offset;
    this.message = parts.message;
    this.operation = parts.operation;
  }

  /** Signs in, or asks whether the server answers when there are no credentials. Optional: the first call signs in, too. */
  async connect(options?: CallOptions): Promise<this> {
    await this.#parts.connect(options);
    return this;
  }

  /** HTTP has no connection to end. */
  disconnect(): Promise<void> {
    return Promise.resolve();
  }

  /** Ends the client for good, and every call under way with it. */
  close(): Promise<void> {
    this.#parts.close();
    return Promise.resolve();
  }

  destroy(): Promise<void> {
    return this.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  getConnectionInfo(): ConnectionInfo {
    return { protocol: "http", serverAddress: new URL(this.#parts.url).host };
  }

  /** Sends a request of one's own with the token of the client. Resolves with the body of the answer as it came. */
  sendHttpRequest(
    method: HttpRequest["method"],
    path: string,
    body?: JsonValue,
    options?: CallOptions,
  ): Promise<Uint8Array> {
    return this.#parts.request({ method, path, ...(body === undefined ? {} : { body }) }, options);
  }

  sendBinaryRequest(): Promise<never> {
    return Promise.reject(binaryOnly("sendBinaryRequest"));
  }

  sendBinaryRequestToReplica(): Promise<never> {
    return Promise.reject(binaryOnly("sendBinaryRequestToReplica"));
  }

  toJSON(): Record<string, unknown> {
    return { transport: "HTTP", url: this.#parts.url };
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return `HttpClient { ${this.#parts.url} }`;
  }
}
