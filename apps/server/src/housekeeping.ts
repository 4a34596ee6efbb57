import type { GroupProgress, Handover, ServerOperation } from "@iggy/engine";
import type { MetadataPlane } from "./metadata/metadata-plane.js";
import type { EndedSession, PartitionPlane } from "./partitions/index.js";
import type { Clock } from "./request.js";
import type { ConnectionTable } from "./sessions/connection-table.js";
import type { SessionLeases } from "./sessions/lease.js";
import { Silence } from "./sessions/silence.js";
import { timerMillis } from "./timer-limit.js";

/** How often handovers of groups and retirements of sessions are looked at. */
const UPKEEP_PERIOD_MILLIS = 1000;
/** Sessions retired together: what one barrier of a partition takes. */
const RETIREMENT_BATCH = 128;
/** How often the keys of streams are compared with those of the server. */
const REWRAP_PERIOD_MILLIS = 60_000;
/** Expired tokens deleted in one pass; a full pass is repeated at once. */
const TOKENS_PER_PASS = 256;

export interface HousekeepingDeps {
  readonly metadata: MetadataPlane;
  /** Partitions of this shard. */
  readonly partitions: PartitionPlane;
  /** Resolves when no partition of the node can be written to by these sessions any more. At most 128. */
  readonly retireSessions: (sessions: readonly EndedSession[]) => Promise<void>;
  readonly connections: ConnectionTable;
  readonly leases: SessionLeases;
  readonly clock: Clock;
  /** Takes into `leases` what was heard on connections of other shards. */
  readonly hearElsewhere: () => Promise<void>;
  /** What groups were served in the partitions of these handovers, asked now. */
  readonly progressOf: (handovers: readonly Handover[]) => GroupProgress | Promise<GroupProgress>;
  readonly periods: HousekeepingPeriods;
  /** Logs how the node is doing. */
  readonly reportUsage: () => Promise<void>;
  /** Operations by which the keys of streams follow a rotation of the server key. */
  readonly dueRewraps: () => Promise<readonly ServerOperation[]>;
  readonly log: {
    info(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

/** Milliseconds; undefined switches a job off. */
export interface HousekeepingPeriods {
  readonly heartbeatMillis: number | undefined;
  readonly tokenCleanerMillis: number | undefined;
  readonly segmentCleanerMillis: number | undefined;
  readonly usageMillis: number | undefined;
  readonly rebalancingTimeoutMillis: number;
}

/** Work that the server starts by itself: leases, handovers, retirements, expired tokens, keys, retention. */
export class Housekeeping {
  private readonly deps: HousekeepingDeps;
  private readonly timers: NodeJS.Timeout[] = [];
  private readonly running = new Set<string>();
  private readonly retired = new Set<string>();
  private stopped = false;

  constructor(deps: HousekeepingDeps) {
    this.deps = deps;
  }

  start(): void {
    const { heartbeatMillis, tokenCleanerMillis, segmentCleanerMillis, usageMillis } = this.deps.periods;
    this.every("handovers", UPKEEP_PERIOD_MILLIS, () => this.completeHandovers());
    this.every("retirements", UPKEEP_PERIOD_MILLIS, () => this.retireEndedSessions());
    if (heartbeatMillis !== undefined) {
      const { connections, leases, clock } = this.deps;
      const silence = new Silence(connections, leases, clock, heartbeatMillis);
      this.every("silence", heartbeatMillis, () => this.endSilence(silence));
    }
    this.every("tokens", tokenCleanerMillis, () => this.deleteExpiredTokens());
    this.every("retention", segmentCleanerMillis, () => this.deps.partitions.clean());
    this.every("stream keys", REWRAP_PERIOD_MILLIS, () => this.rewrapStreamKeys());
    this.run("stream keys", () => this.rewrapStreamKeys());
    this.every("usage", usageMillis, () => this.deps.reportUsage());
  }

  stop(): void {
    this.stopped = true;
    for (const timer of this.timers) clearInterval(timer);
  }

  /** A group gave back everything it was served: a handover may be due now. */
  groupDrained(): void {
    this.run("handovers", () => this.completeHandovers());
  }

  private every(name: string, periodMillis: number | undefined, job: () => Promise<void>): void {
    if (periodMillis === undefined) return;
    const timer = setInterval(() => this.run(name, job), timerMillis(periodMillis));
    timer.unref();
    this.timers.push(timer);
  }

  /** Runs a job unless it still runs. */
  private run(name: string, job: () => Promise<void>): void {
    if (this.stopped || this.running.has(name)) return;
    this.running.add(name);
    job()
      .catch((error: unknown) => this.deps.log.error({ err: error, job: name }, "a background job failed"))
      .finally(() => this.running.delete(name));
  }

  private async completeHandovers(): Promise<void> {
    const { metadata, progressOf, clock, periods } = this.deps;
    const handovers = [...metadata.machine.handovers()];
    if (handovers.length === 0) return;
    const timeoutMicros = periods.rebalancingTimeoutMillis * 1000;
    const progress = await progressOf(handovers);
    await this.orderAll(metadata.machine.dueRevocations(progress, clock.nowMicros(), timeoutMicros));
  }

  private async endSilence(silence: Silence): Promise<void> {
    if (!silence.endSilentConnections()) return;
    const { metadata, leases, clock, hearElsewhere } = this.deps;
    await hearElsewhere();
    const live = [...metadata.machine.sessions()];
    const clients = live.map(({ clientId }) => clientId);
    const silent = new Set(leases.expired(clients, clock.monotonicMillis(), silence.leaseMillis));
    const ending = live.filter(({ clientId }) => silent.has(clientId));
    if (ending.length > 0) this.deps.log.info({ sessions: ending.length }, "sessions end: nothing was heard of them");
    await this.orderAll(ending.map((session) => metadata.machine.sessionExpiry(session)));
  }

  /**
   * Frees the slots of ended sessions: first no partition may take a write of theirs any more, then metadata forgets
   * them.
   */
  private async retireEndedSessions(): Promise<void> {
    const { metadata, retireSessions } = this.deps;
    const waiting: EndedSession[] = [];
    metadata.machine.finalizations(({ clientId, epoch }) => {
      const isRetired = this.retired.has(sessionKey(clientId, epoch));
      if (!isRetired && waiting.length < RETIREMENT_BATCH) {
        waiting.push({ client: clientId, session: epoch, metadataWatermark: metadata.appliedOp });
      }
      return isRetired;
    });
    if (waiting.length > 0) {
      await retireSessions(waiting);
      for (const { client, session } of waiting) this.retired.add(sessionKey(client, session));
    }
    const due = metadata.machine.finalizations(({ clientId, epoch }) => this.retired.has(sessionKey(clientId, epoch)));
    await this.orderAll(due);
    if (due.length === 0) this.retired.clear();
  }

  private async rewrapStreamKeys(): Promise<void> {
    await this.orderAll(await this.deps.dueRewraps());
  }

  private async deleteExpiredTokens(): Promise<void> {
    const { metadata, clock } = this.deps;
    for (;;) {
      const due = metadata.machine.expiredTokens(clock.nowMicros(), TOKENS_PER_PASS);
      const isOrdered = await this.orderAll(due);
      if (!isOrdered || due.length < TOKENS_PER_PASS) return;
    }
  }

  /** False when the log took no more; what is left is due again next time. */
  private async orderAll(operations: readonly ServerOperation[]): Promise<boolean> {
    for (const operation of operations) {
      if (this.stopped || (await this.deps.metadata.order(operation)) === undefined) return false;
    }
    return true;
  }
}

const sessionKey = (client: bigint, session: number): string => `${client}/${session}`;
