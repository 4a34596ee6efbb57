import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ClientCore } from "../src/client/client.js";
import { Consumer, IggyError, Partitioning, PollingStrategy } from "../src/index.js";
import { ScriptedCluster } from "./support/scripted-cluster.js";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const nodes = 3;
const partitions = 3;

/** Something that the caller does, or that happens to the cluster. */
type Event =
  | { readonly kind: "create" | "send" | "poll" | "list"; readonly partition: number; readonly timeout: number }
  | { readonly kind: "kill" | "start" | "cut" | "freeze" | "drop" | "lead" | "lag"; readonly node: number }
  | { readonly kind: "move"; readonly partition: number; readonly node: number }
  | { readonly kind: "recreate"; readonly partition: number }
  | { readonly kind: "lose-replies"; readonly count: number }
  | { readonly kind: "end-sessions" | "no-leader" | "heal" }
  | { readonly kind: "wait"; readonly ms: number };

const node = fc.nat({ max: nodes - 1 });
const partition = fc.nat({ max: partitions - 1 });
const eventArb: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom("create" as const, "send" as const, "poll" as const, "list" as const),
      partition,
      timeout: fc.constantFrom(200, 2000, 12_000),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "kill" as const,
        "start" as const,
        "cut" as const,
        "freeze" as const,
        "drop" as const,
        "lead" as const,
        "lag" as const,
      ),
      node,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("move" as const), partition, node }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("recreate" as const), partition }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("lose-replies" as const), count: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("end-sessions" as const, "no-leader" as const, "heal" as const, "heal" as const),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.constantFrom(1, 60, 900, 6000) }) },
);

interface Outcome {
  readonly what: string;
  readonly timeout: number;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Text that is in the request and nowhere else. */
  readonly mark: string;
  readonly error: unknown;
}

/** Numbers from 0 up to 1 that a seed decides. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

class History {
  readonly cluster = new ScriptedCluster(nodes, partitions);
  readonly client: ClientCore;
  readonly outcomes: Outcome[] = [];
  #made = 0;

  constructor(seed: number) {
    this.client = this.cluster.client({
      heartbeatInterval: 5000,
      random: randomOf(seed),
      reconnect: { interval: 100, maxInterval: 1000 },
    });
  }

  /** Calls whose outcome is not there yet. */
  get pending(): number {
    return this.#made - this.outcomes.length;
  }

  happen(event: Event): void {
    const { cluster } = this;
    switch (event.kind) {
      case "create":
      case "send":
      case "poll":
      case "list":
        this.#call(event.kind, event.partition, event.timeout);
        return;
      case "kill":
        cluster.replica(event.node).kill();
        return;
      case "start":
        cluster.replica(event.node).start();
        return;
      case "cut":
        cluster.replica(event.node).isCutOff = true;
        cluster.replica(event.node).dropAll();
        return;
      case "freeze":
        cluster.replica(event.node).isFrozen = true;
        return;
      case "drop":
        cluster.replica(event.node).dropAll();
        return;
      case "lead":
        cluster.leader = event.node;
        return;
      case "lag":
        cluster.replica(event.node).believedLeader = cluster.leader;
        for (const [id, state] of cluster.partitions) cluster.replica(event.node).beliefs.set(id, { ...state });
        return;
      case "move":
        cluster.movePartition(event.partition, event.node);
        return;
      case "recreate":
        cluster.recreatePartition(event.partition);
        return;
      case "lose-replies":
        this.#loseReplies(event.count);
        return;
      case "end-sessions":
        cluster.endSessions();
        return;
      case "no-leader":
        cluster.leader = -1;
        return;
      case "heal":
        cluster.heal();
        return;
      case "wait":
        return;
    }
  }

  #call(what: "create" | "send" | "poll" | "list", partitionId: number, timeout: number): void {
    const startedAt = performance.now();
    const mark = `m${String(++this.#made)}m`;
    const done = (error?: unknown): void => {
      this.outcomes.push({ what, timeout, startedAt, endedAt: performance.now(), mark, error });
    };
    this.#start(what, partitionId, mark, timeout).then(() => done(), done);
  }

  #start(what: string, partitionId: number, mark: string, timeout: number): Promise<unknown> {
    const { client } = this;
    const place = { streamId: 1, topicId: 1 };
    const options = { timeout };
    switch (what) {
      case "create":
        return client.sendBinaryRequest(202, Buffer.from(mark), options);
      case "send": {
        const to = { ...place, partition: Partitioning.PartitionId(partitionId) };
        return client.message.send({ ...to, messages: [{ payload: mark }] }, options);
      }
      case "poll": {
        const from = { partitionId, consumer: Consumer.Named("app"), pollingStrategy: PollingStrategy.First };
        return client.message.poll({ ...place, ...from, options: {} }, options);
      }
      default:
        return client.stream.list(options);
    }
  }

  /** The next writes take effect, and their connections break before the reply. */
  #loseReplies(count: number): void {
    let left = count;
    this.cluster.intercept = (replica, received) => {
      if (left === 0 || (received.code !== 202 && received.code !== 101)) return false;
      left--;
      this.cluster.answer(replica, received);
      received.wire.reset();
      return true;
    };
  }
}

const timesIn = (texts: readonly string[], mark: string): number => {
  const hex = Buffer.from(mark).toString("hex");
  return texts.filter((text) => text.includes(hex)).length;
};

async function check(seed: number, events: readonly Event[]): Promise<void> {
  const history = new History(seed);
  const { cluster, client, outcomes } = history;
  for (const event of events) {
    history.happen(event);
    await vi.advanceTimersByTimeAsync(event.kind === "wait" ? event.ms : 1);
  }
  cluster.heal();
  await vi.advanceTimersByTimeAsync(45_000);

  // Every call settled, within its time.
  expect(history.pending).toBe(0);
  for (const { what, timeout, startedAt, endedAt, error } of outcomes) {
    expect(endedAt - startedAt, `${what} of ${String(timeout)} ms`).toBeLessThanOrEqual(timeout + 2);
    if (error !== undefined) expect(error).toBeInstanceOf(IggyError);
  }

  // A read notices a lost session without doubt; a write that does would be uncertain.
  history.happen({ kind: "list", partition: 0, timeout: 30_000 });
  await vi.advanceTimersByTimeAsync(5000);

  // What was kept is resolved, or its partition history is gone and with it every proof; the lanes are free again.
  const isHistoryLost = events.some(({ kind }) => kind === "recreate");
  for (const { operationId } of client.operation.list()) {
    const resolving = client.operation.resolve({ operationId }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(31_000);
    if (!IggyError.is(await resolving, 14006)) continue;
    expect(isHistoryLost).toBe(true);
    await client.operation.abandon({ operationId });
  }
  history.happen({ kind: "create", partition: 0, timeout: 30_000 });
  for (let id = 0; id < partitions; id++) history.happen({ kind: "send", partition: id, timeout: 30_000 });
  await vi.advanceTimersByTimeAsync(31_000);
  expect(outcomes.slice(-1 - partitions).map(({ error }) => error)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);

  // A write takes effect at most once; once when it succeeded, and never when nothing was accepted.
  for (const { what, mark, error } of outcomes) {
    if (what !== "create" && what !== "send") continue;
    const times = timesIn(cluster.effects, mark);
    expect(times, `${what} ${mark}`).toBeLessThanOrEqual(1);
    if (error === undefined) expect(times, `${what} ${mark} succeeded`).toBe(1);
    if (IggyError.is(error, 58)) expect(times, `${what} ${mark} was not accepted`).toBe(0);
  }

  // A request number names one request for the whole life of the client.
  for (const [number, frames] of cluster.requestNumbers) expect(frames.size, `request ${number}`).toBe(1);

  await client.destroy();
  await vi.advanceTimersByTimeAsync(5000);
  expect(cluster.replicas.map(({ wires }) => wires.size)).toEqual([0, 0, 0]);
}

const runs = Number(process.env["IGGY_TEST_HISTORIES"] ?? 60);

test("random histories of a cluster: calls end in time, writes happen at most once, numbers never repeat", async () => {
  await fc.assert(fc.asyncProperty(fc.nat(), fc.array(eventArb, { minLength: 1, maxLength: 40 }), check), {
    numRuns: runs,
  });
}, 120_000);
