import { ErrorCode } from "@iggy/protocol";
import type { CallOptions } from "../api/caller.js";
import type { ClientCore } from "../client/client.js";
import { ClientShutdownError, TimeoutError, ValidationError } from "../errors/index.js";
import { unref } from "../time/timers.js";
import { integer } from "../values/check.js";
import { type Duration, milliseconds } from "../values/duration.js";
import { PoolMember } from "./member.js";

export interface ClientPoolOptions {
  /** Members that are always there, 1 without it. */
  readonly min?: number;
  /** Most members, 4 without it. Each is a session of its own, with its own links. */
  readonly max?: number;
  /** A member above `min` that did nothing for this long is closed; 30 s without it. */
  readonly idleTimeout?: Duration;
  /** Longest wait of `acquire`, 30 s without it. */
  readonly acquireTimeout?: Duration;
  /** `least-busy`, the default, takes the member with the fewest calls under way. */
  readonly strategy?: "least-busy" | "round-robin";
}

/** A member that belongs to its caller until it is released. */
export interface PooledClient extends AsyncDisposable {
  readonly client: ClientCore;
  /** Number that the errors of the pool name. */
  readonly member: number;
  /** Gives it back. Whoever made readers or joined groups with it closes and leaves them before. */
  release(): void;
}

/** Namespaces whose calls need no particular session. */
type Shared =
  "user" | "token" | "system" | "cluster" | "client" | "stream" | "topic" | "partition" | "segment" | "offset";
type Namespace = Shared | "message";

/** Calls of other namespaces that belong to a session. */
const pinnedCalls: ReadonlySet<string> = new Set(["sendIdempotent", "nextProducerId", "reader", "getMe"]);

const longestTimeoutMs = 2 ** 31 - 1;

/**
 * Independent sessions of one configuration, for throughput and isolation. Calls without session state go to any member;
 * groups, logins, idempotent sends, readers and retained operations stay on the pinned one. Errors name the member in
 * `context.member`.
 */
export class ClientPoolCore implements AsyncDisposable {
  readonly user: ClientCore["user"];
  readonly token: ClientCore["token"];
  readonly system: ClientCore["system"];
  readonly cluster: ClientCore["cluster"];
  readonly client: ClientCore["client"];
  readonly stream: ClientCore["stream"];
  readonly topic: ClientCore["topic"];
  readonly partition: ClientCore["partition"];
  readonly segment: ClientCore["segment"];
  readonly offset: ClientCore["offset"];
  readonly message: ClientCore["message"];

  readonly #make: () => ClientCore;
  readonly #min: number;
  readonly #max: number;
  readonly #idleTimeoutMs: number;
  readonly #acquireTimeoutMs: number;
  readonly #isRoundRobin: boolean;
  readonly #pinned: PoolMember;
  #members: PoolMember[] = [];
  readonly #waiting = new Set<() => void>();
  #made = 0;
  #turn = 0;
  #idleTimer: ReturnType<typeof setInterval> | undefined;
  #closing: Promise<void> | undefined;

  constructor(make: () => ClientCore, options: ClientPoolOptions = {}) {
    this.#make = make;
    this.#min = integer("min", options.min ?? 1, 1, 1024);
    this.#max = integer("max", options.max ?? Math.max(4, this.#min), this.#min, 1024);
    this.#idleTimeoutMs = milliseconds("idleTimeout", options.idleTimeout ?? 30_000, 1, longestTimeoutMs);
    this.#acquireTimeoutMs = milliseconds("acquireTimeout", options.acquireTimeout ?? 30_000, 0, longestTimeoutMs);
    const { strategy = "least-busy" } = options;
    this.#isRoundRobin = strategy === "round-robin";
    this.#pinned = this.#add();
    while (this.#members.length < this.#min) this.#add();
    this.user = this.#shared("user");
    this.token = this.#shared("token");
    this.system = this.#shared("system");
    this.cluster = this.#shared("cluster");
    this.client = this.#shared("client");
    this.stream = this.#shared("stream");
    this.topic = this.#shared("topic");
    this.partition = this.#shared("partition");
    this.segment = this.#shared("segment");
    this.offset = this.#shared("offset");
    this.message = this.#shared("message");
  }

  // What belongs to one session.

  get session(): ClientCore["session"] {
    return this.#pinned.client.session;
  }

  get group(): ClientCore["group"] {
    return this.#pinned.client.group;
  }

  /** Retained operations of the pinned member; those of another one are resolved through `member(id)`. */
  get operation(): ClientCore["operation"] {
    return this.#pinned.client.operation;
  }

  /** The member that never leaves: producers, consumers and readers are made from it. */
  get pinned(): ClientCore {
    return this.#pinned.client;
  }

  /** Members now. */
  get size(): number {
    return this.#members.length;
  }

  /** A member that an error named; undefined when it is gone. */
  member(id: number): ClientCore | undefined {
    return this.#members.find((member) => member.id === id)?.client;
  }

  /** Connects every member. Optional: the first call of each does it as well. */
  async connect(options?: CallOptions): Promise<this> {
    await Promise.all(this.#members.map(({ client }) => client.connect(options)));
    return this;
  }

  /** A member for the caller alone. The pinned one is never handed out, so `max` is at least 2. */
  async acquire(): Promise<PooledClient> {
    if (this.#max === 1) {
      throw new ValidationError(ErrorCode.InvalidConfiguration, "acquire() needs a pool with max of 2 or more");
    }
    const deadline = performance.now() + this.#acquireTimeoutMs;
    for (;;) {
      this.#throwIfClosed();
      const member = this.#free();
      if (member !== undefined) return this.#handOut(member);
      const left = deadline - performance.now();
      if (left <= 0) {
        const text = `no member of the pool was free in ${String(this.#acquireTimeoutMs)} ms`;
        throw new TimeoutError(ErrorCode.TransientNotAccepted, text, this.#acquireTimeoutMs);
      }
      await this.#whenReleased(left);
    }
  }

  /** Waits for the calls under way, then closes every member. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    clearInterval(this.#idleTimer);
    this.#tellReleased();
    while (this.#members.some(({ calls }) => calls > 0)) await this.#whenReleased(longestTimeoutMs);
    await Promise.all(this.#members.map(({ client }) => client.close()));
    this.#members = [];
  }

  #shared<Name extends Namespace>(name: Name): ClientCore[Name] {
    return new Proxy(this.#pinned.client[name], {
      get: (_target, property) => {
        const value: unknown = Reflect.get(this.#pinned.client[name], property);
        if (typeof value !== "function" || typeof property !== "string") return value;
        return (...args: readonly unknown[]) => this.#call(name, property, args);
      },
    });
  }

  async #call(name: Namespace, method: string, args: readonly unknown[]): Promise<unknown> {
    this.#throwIfClosed();
    const member = pinnedCalls.has(method) || isOfGroup(args[0]) ? this.#pinned : this.#pick();
    const namespace = member.client[name];
    const call: unknown = Reflect.get(namespace, method);
    if (typeof call !== "function") throw new TypeError(`${name} has no ${method}`);
    try {
      return await member.run(() => Reflect.apply(call, namespace, args));
    } finally {
      this.#tellReleased();
    }
  }

  #pick(): PoolMember {
    const free = this.#members.filter(({ isTaken }) => !isTaken);
    const next = free[this.#turn++ % free.length] ?? this.#pinned;
    const chosen = this.#isRoundRobin
      ? next
      : free.reduce((best, each) => (each.calls < best.calls ? each : best), next);
    return chosen.calls > 0 && this.#members.length < this.#max ? this.#add() : chosen;
  }

  #free(): PoolMember | undefined {
    const idle = this.#members.find((member) => member !== this.#pinned && !member.isTaken && member.calls === 0);
    return idle ?? (this.#members.length < this.#max ? this.#add() : undefined);
  }

  #handOut(member: PoolMember): PooledClient {
    member.isTaken = true;
    const release = (): void => {
      if (!member.isTaken) return;
      member.isTaken = false;
      member.release();
      this.#tellReleased();
    };
    return {
      client: member.client,
      member: member.id,
      release,
      [Symbol.asyncDispose]: () => {
        release();
        return Promise.resolve();
      },
    };
  }

  #add(): PoolMember {
    const member = new PoolMember(this.#made++, this.#make());
    this.#members.push(member);
    if (this.#members.length > this.#min && this.#idleTimer === undefined) {
      this.#idleTimer = setInterval(() => this.#closeIdle(), this.#idleTimeoutMs);
      unref(this.#idleTimer);
    }
    return member;
  }

  #closeIdle(): void {
    for (const member of [...this.#members]) {
      if (this.#members.length <= this.#min) break;
      if (member === this.#pinned || member.idleMs < this.#idleTimeoutMs) continue;
      this.#members = this.#members.filter((other) => other !== member);
      void member.client.close();
    }
    if (this.#members.length > this.#min) return;
    clearInterval(this.#idleTimer);
    this.#idleTimer = undefined;
  }

  async #whenReleased(timeoutMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      this.#waiting.add(done);
    });
  }

  #tellReleased(): void {
    for (const done of [...this.#waiting]) done();
  }

  #throwIfClosed(): void {
    if (this.#closing !== undefined) throw new ClientShutdownError();
  }
}

/** Whether a call reads or commits as a member of a group, which a session is. */
function isOfGroup(request: unknown): boolean {
  if (typeof request !== "object" || request === null || !("consumer" in request)) return false;
  const { consumer } = request;
  return typeof consumer === "object" && consumer !== null && "kind" in consumer && consumer.kind === "consumer_group";
}
