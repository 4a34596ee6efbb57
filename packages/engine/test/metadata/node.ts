import {
  type Command,
  createStream,
  createTopic,
  decode,
  decodeResponse,
  encodeRequest,
  getUser,
  type Identifier,
  namedId,
  numericId,
  type OptionEntry,
  type User,
} from "@iggy/protocol";
import {
  bootstrap,
  type ClientRequest,
  defaultMetadataConfig,
  type DeletableThrough,
  everyNode,
  type MetadataApplied,
  type MetadataConfig,
  type MetadataEffect,
  MetadataMachine,
  type MetadataPrepare,
  noStats,
  type PartitionKey,
  type PartitionStats,
  registration,
  type Secrets,
  type ServerOperation,
} from "@iggy/engine";

export const startMicros = 1_772_000_000_000_000;

/** Readable in place of a hash, and as pure as one. */
export const plainSecrets = (): Secrets => {
  let next = 0;
  return {
    randomBytes: (length) => Uint8Array.from({ length }, () => (next = (next * 31 + 7) & 0xff)),
    hashPassword: (password) => Promise.resolve(`hash of ${password}`),
    verifyPassword: (password, hash) => Promise.resolve(hash === `hash of ${password}`),
  };
};

/** A signed-in client. Its request numbers count up, as those of a real one. */
export interface TestClient {
  readonly client: bigint;
  readonly session: number;
  readonly userId: number;
  request: number;
}

export interface Outcome {
  /** 0, the status of a denial, or the committed refusal. */
  readonly code: number;
  /** Whether the log holds it. */
  readonly isCommitted: boolean;
  readonly payload: Uint8Array;
  readonly effects: readonly MetadataEffect[];
}

/** Orders operations like the primary of a group of one: each is applied as soon as it is proposed. */
export class TestNode {
  machine: MetadataMachine;
  readonly config: MetadataConfig;
  readonly secrets = plainSecrets();
  nowMicros = startMicros;
  /** Everything that was applied, to be replayed. */
  readonly log: MetadataPrepare[] = [];
  stats: PartitionStats = noStats;
  inFlight: (partition: PartitionKey, groupId: number) => boolean = () => false;
  deletableThrough: (partition: PartitionKey, count: number) => DeletableThrough = () => undefined;
  private nextClient = 1n;

  constructor(config: Partial<MetadataConfig> = {}) {
    this.config = { ...defaultMetadataConfig, ...config };
    this.machine = new MetadataMachine(this.config);
    this.applyServer(bootstrap("iggy", "hash of iggy"));
  }

  private append(fields: Omit<MetadataPrepare, "op" | "timestampMicros" | "checksum" | "view">): MetadataApplied {
    const op = this.machine.appliedOp + 1;
    const prepare = { ...fields, op, timestampMicros: ++this.nowMicros, checksum: BigInt(op) * 1_000_003n, view: 0 };
    this.log.push(prepare);
    return this.machine.apply(prepare);
  }

  applyServer({ operation, client, session, body }: ServerOperation): MetadataApplied {
    return this.append({ operation, client, session, body, request: 0, requestChecksum: 0n, userId: 0 });
  }

  /** Orders an operation as it stands, without resolving it. */
  applyRaw(by: TestClient, operation: number, body: Uint8Array, request = ++by.request): MetadataApplied {
    const { client, session, userId } = by;
    return this.append({ operation, client, session, userId, request, requestChecksum: BigInt(request), body });
  }

  register(userId: number, client: bigint, secret = secretOf(client)): MetadataApplied {
    const account = { userId, userCreatedAtMicros: Number(this.findUser(userId)?.createdAt ?? 0n) };
    const { operation, body } = registration(account, secret);
    return this.append({ operation, client, session: 0, request: 0, requestChecksum: client, userId, body });
  }

  findUser(user: number | string): User | undefined {
    const request = encodeRequest(getUser, { userId: id(user) });
    const result = this.machine.read(getUser.code, request, 0, 0n, noStats);
    if ("status" in result || result.payload.length === 0) return undefined;
    return decode(getUser.response, result.payload).user;
  }

  signIn(userId = 0): TestClient {
    const client = this.nextClient++;
    const applied = this.register(userId, client);
    if (applied.code !== 0) throw new Error(`sign-in refused with ${String(applied.code)}`);
    return { client, session: this.machine.appliedOp, userId, request: 0 };
  }

  async send<Req, Res>(by: TestClient, command: Command<Req, Res>, request: Req): Promise<Outcome> {
    return this.sendBody(by, command.operation, encodeRequest(command, request));
  }

  async sendBody(by: TestClient, operation: number, body: Uint8Array): Promise<Outcome> {
    const request = ++by.request;
    const resolution = await this.resolve({ operation, client: by.client, userId: by.userId, body });
    if (resolution.kind === "deny") {
      return { code: resolution.code, isCommitted: false, payload: new Uint8Array(0), effects: [] };
    }
    const applied = this.applyRaw(by, resolution.operation, resolution.body, request);
    const payload = applied.code === 0 ? (resolution.payloadOverride ?? applied.payload) : applied.payload;
    return { code: applied.code, isCommitted: true, payload, effects: applied.effects };
  }

  async resolve(request: ClientRequest) {
    return await this.machine.resolve(request, {
      secrets: this.secrets,
      placement: everyNode,
      progressOf: () => ({ isInFlight: (partition, groupId) => this.inFlight(partition, groupId) }),
      deletableThrough: (partition, count) => this.deletableThrough(partition, count),
    });
  }

  /** The decoded reply of a write that must succeed. */
  async do<Req, Res>(by: TestClient, command: Command<Req, Res>, request: Req): Promise<NonNullable<Res>> {
    const { code, payload } = await this.send(by, command, request);
    if (code !== 0) throw new Error(`${command.title} refused with ${String(code)}`);
    return decode(command.response, payload);
  }

  /** The decoded reply of a read, or its status. */
  read<Req, Res>(by: TestClient, command: Command<Req, Res>, request: Req): Res | number {
    const payload = encodeRequest(command, request);
    const result = this.machine.read(command.code, payload, by.userId, by.client, this.stats);
    return "status" in result ? result.status : decodeResponse(command, result.payload);
  }

  async stream(by: TestClient, name: string): Promise<number> {
    return (await this.do(by, createStream, { name, options: [] })).id;
  }

  async topic(
    by: TestClient,
    streamId: number,
    name: string,
    partitionsCount = 1,
    options: readonly OptionEntry[] = [],
  ): Promise<number> {
    const reply = await this.do(by, createTopic, { streamId: id(streamId), partitionsCount, name, options });
    return reply.topic.id;
  }
}

export const secretOf = (client: bigint): Uint8Array => new Uint8Array(32).fill(Number(client & 0xffn));

export const id = (value: number | string): Identifier =>
  typeof value === "number" ? numericId(value) : namedId(value);
