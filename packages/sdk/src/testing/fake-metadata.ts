import {
  type Account,
  bootstrap,
  defaultMetadataConfig,
  everyNode,
  type GroupProgress,
  type MetadataApplied,
  type MetadataEffect,
  MetadataMachine,
  registration,
  type ResolveInputs,
  type Secrets,
  type ServerOperation,
} from "@iggy/engine";

/** An operation in the log, and what applying it gave. */
export interface FakeCommit {
  readonly op: number;
  readonly timestampMicros: number;
  readonly operation: number;
  readonly applied: MetadataApplied;
}

export interface FakeMetadataSettings {
  readonly nowMicros: () => number;
  readonly progress: GroupProgress;
  readonly onEffects: (effects: readonly MetadataEffect[]) => void;
}

/** How long a member may keep a partition that it was asked to give back, µs. */
const revocationMicros = 30_000_000;

/** Passwords live in the memory of a test only, so a hash would protect nobody and cost time. */
const secrets: Secrets = {
  randomBytes: (length) => globalThis.crypto.getRandomValues(new Uint8Array(length)),
  hashPassword: (password) => Promise.resolve(`$fake$${password}`),
  verifyPassword: (password, hash) => Promise.resolve(hash === `$fake$${password}`),
};

/** The metadata of the fake server: the machine of a real one, with a log that nobody keeps. */
export class FakeMetadata {
  readonly machine = new MetadataMachine(defaultMetadataConfig);
  readonly #settings: FakeMetadataSettings;
  #timestampMicros = 0;

  constructor(settings: FakeMetadataSettings, root: { readonly username: string; readonly password: string }) {
    this.#settings = settings;
    this.order(bootstrap(root.username, `$fake$${root.password}`));
  }

  get #inputs(): ResolveInputs {
    return {
      secrets,
      placement: everyNode,
      progressOf: () => this.#settings.progress,
      deletableThrough: () => undefined,
    };
  }

  authenticate(username: string, password: string) {
    return this.machine.authenticatePassword(secrets, username, password);
  }

  authenticateToken(token: string) {
    return this.machine.authenticateToken(token, this.#settings.nowMicros());
  }

  register(client: bigint, account: Account, bindSecret: Uint8Array): FakeCommit | { readonly refusal: number } {
    const refusal = this.machine.registrationRefusal(client, account, bindSecret);
    if (refusal !== undefined) return { refusal };
    const { operation, userId, body } = registration(account, bindSecret);
    return this.#apply({ operation, client, session: 0, body }, { userId });
  }

  /** Resolves and applies an operation of a client; a number is the refusal. */
  async submit(
    request: {
      readonly operation: number;
      readonly client: bigint;
      readonly userId: number;
      readonly body: Uint8Array;
    },
    numbers: { readonly session: number; readonly request: number; readonly requestChecksum: bigint },
  ): Promise<FakeCommit | number> {
    const resolution = await this.machine.resolve(request, this.#inputs);
    if (resolution.kind === "deny") return resolution.code;
    const { operation, body, payloadOverride } = resolution;
    const { client, userId } = request;
    const commit = this.#apply({ operation, client, session: numbers.session, body }, { ...numbers, userId });
    if (payloadOverride === undefined || commit.applied.code !== 0) return commit;
    return { ...commit, applied: { ...commit.applied, payload: payloadOverride } };
  }

  /** Applies an operation of the server itself. */
  order(operation: ServerOperation): FakeCommit {
    return this.#apply(operation, { userId: 0 });
  }

  /** Hands partitions over whose members have committed what they got, and frees the slots of ended sessions. */
  housekeep(): void {
    const { progress, nowMicros } = this.#settings;
    const due = [
      ...this.machine.dueRevocations(progress, nowMicros(), revocationMicros),
      ...this.machine.finalizations(() => true),
    ];
    for (const operation of due) this.order(operation);
  }

  #apply(
    { operation, client, session, body }: ServerOperation,
    identity: { readonly userId: number; readonly request?: number; readonly requestChecksum?: bigint },
  ): FakeCommit {
    const op = this.machine.appliedOp + 1;
    this.#timestampMicros = Math.max(this.#timestampMicros + 1, this.#settings.nowMicros());
    const timestampMicros = this.#timestampMicros;
    const applied = this.machine.apply({
      op,
      timestampMicros,
      checksum: BigInt(op),
      operation,
      client,
      session,
      request: identity.request ?? 0,
      requestChecksum: identity.requestChecksum ?? 0n,
      userId: identity.userId,
      view: 0,
      body,
    });
    if (applied.effects.length > 0) this.#settings.onEffects(applied.effects);
    return { op, timestampMicros, operation, applied };
  }
}
