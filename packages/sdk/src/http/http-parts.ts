import { Assignments } from "../api/assignments.js";
import { type CallOptions, defaultTimeoutMs } from "../api/caller.js";
import { ClientApi } from "../api/clients.js";
import { ClusterApi } from "../api/cluster.js";
import type { FetchCalls } from "../api/fetches.js";
import type { GroupApi } from "../api/groups.js";
import { MessageApi } from "../api/messages.js";
import { OffsetApi } from "../api/offsets.js";
import type { MessageDefaults } from "../api/outgoing-messages.js";
import { PartitionApi, SegmentApi } from "../api/partitions.js";
import type { SessionFace } from "../api/session.js";
import { StreamApi } from "../api/streams.js";
import { SystemApi } from "../api/system.js";
import { TokenApi } from "../api/tokens.js";
import { TopicApi } from "../api/topics.js";
import { UserApi } from "../api/users.js";
import type { HttpConfig } from "../client/config.js";
import { FeatureUnavailableError } from "../errors/index.js";
import type { CredentialsSource } from "../session/credentials.js";
import { SignInSource } from "../session/sign-in-source.js";
import type { Random } from "../time/backoff.js";
import { integer } from "../values/check.js";
import { AccessTokens } from "./access-tokens.js";
import { checkedUrl } from "./base-url.js";
import { HttpCaller } from "./http-caller.js";
import { HttpGroupApi } from "./http-group-api.js";
import { HttpLink } from "./http-link.js";
import { HttpPolls } from "./http-polls.js";
import { HttpSends } from "./http-sends.js";
import { HttpSessionApi } from "./http-session-api.js";
import { ProgressBlocks } from "./progress-blocks.js";
import type { HttpRequest } from "./routes/index.js";

export interface HttpPartsOptions extends HttpConfig {
  readonly url: string;
  readonly credentials?: CredentialsSource | undefined;
  readonly random: Random;
  readonly defaults: MessageDefaults;
  /** Reads of unknown outcome that are kept. */
  readonly maxOperations: number;
}

/** Everything of a client over HTTP: the same interfaces as over a binary transport, on other calls. */
export class HttpParts {
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
  readonly operation: ProgressBlocks;
  readonly #link: HttpLink;
  readonly #tokens: AccessTokens;

  constructor(options: HttpPartsOptions) {
    const { jwt, autoRefresh = true, retries = 3, random } = options;
    const link = new HttpLink({
      url: checkedUrl(options.url),
      // Looked up late, so that a test may replace it, and called as browsers want it.
      fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
      retries: integer("retries", retries, 0, 0xffff_ffff),
      random,
    });
    const source = new SignInSource(options.credentials);
    const tokens = new AccessTokens(link, source, { autoRefresh, ...(jwt === undefined ? {} : { jwt }) });
    link.signInWith(tokens);
    const blocks = new ProgressBlocks(options.maxOperations);
    const caller = new HttpCaller(link, blocks, () => sends.forgetHistories());
    const sends = new HttpSends(link, caller);

    this.#link = link;
    this.#tokens = tokens;
    this.session = new HttpSessionApi(tokens);
    this.user = new UserApi(caller, { source, userId: () => tokens.userId });
    this.token = new TokenApi(caller);
    this.system = new SystemApi(caller, (callOptions) => this.#ping(callOptions));
    this.cluster = new ClusterApi(caller);
    this.client = new ClientApi(caller);
    this.stream = new StreamApi(caller);
    this.topic = new TopicApi(caller);
    this.partition = new PartitionApi(caller);
    this.segment = new SegmentApi(caller);
    this.group = new HttpGroupApi(caller);
    this.offset = new OffsetApi(caller);
    this.message = new MessageApi(
      sends,
      new HttpPolls(link, blocks),
      noFetches,
      new Assignments(this.group),
      options.defaults,
      () => Promise.reject(binaryOnly("message.reader")),
    );
    this.operation = blocks;
  }

  get url(): string {
    return this.#link.url;
  }

  /** Signs in, when there are credentials; else asks whether the server answers. */
  async connect(options?: CallOptions): Promise<void> {
    const call = { command: { name: "connect", code: 0 }, about: {} };
    await this.#link.within(call, options, defaultTimeoutMs, (scope) => this.#tokens.signIn(scope));
    if (!this.#tokens.isSignedIn) await this.#ping(options);
  }

  close(): void {
    this.#link.close();
  }

  /** Sends any request with the token of the client. Resolves with the body of an answer of success. */
  async request(request: HttpRequest, options?: CallOptions): Promise<Uint8Array> {
    const { method, path } = request;
    if (!path.startsWith("/") || /[\s#\\]/.test(path)) {
      throw new TypeError("path takes an encoded path that starts with a slash");
    }
    const isRead = method === "GET" && !/[?&]auto_commit=true(&|$)/.test(path);
    const isPublic = publicPaths.has(path.split("?")[0] ?? "");
    const call = {
      command: { name: `${method} ${path.split("?")[0] ?? ""}`, code: 0 },
      request,
      effect: isRead ? "read" : "write",
      about: {},
      isPublic,
    } as const;
    return (await this.#link.send(call, options, defaultTimeoutMs)).body;
  }

  async #ping(options: CallOptions | undefined): Promise<void> {
    await this.request({ method: "GET", path: "/ping" }, options);
  }
}

const publicPaths: ReadonlySet<string> = new Set([
  "/",
  "/ping",
  "/users/login",
  "/users/refresh-token",
  "/personal-access-tokens/login",
]);

export const binaryOnly = (what: string): FeatureUnavailableError =>
  new FeatureUnavailableError(`${what} needs a binary transport: TCP, TLS, WS, WSS or QUIC`);

const noFetches: Pick<FetchCalls, "fetch"> = { fetch: () => Promise.reject(binaryOnly("message.fetch")) };
