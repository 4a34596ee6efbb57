import {
  checkFetchReply,
  type Consumer as WireConsumer,
  ErrorCode,
  fetchMessages,
  type FetchMessagesRequest,
  type FetchSection as WireSection,
  FETCH_SECTION_SIZE,
  fetchSections,
  HEADER_SIZE,
  MAX_FETCH_SECTIONS,
  type PartitionContext,
} from "@iggy/protocol";
import { partitionLane } from "../calls/lanes.js";
import {
  errorOf,
  FeatureUnavailableError,
  IggyError,
  UndecodableMessagesError,
  ValidationError,
} from "../errors/index.js";
import type { PartitionRoutes } from "../routing/partition-routes.js";
import type { Route } from "../routing/route-cache.js";
import type { TopicName } from "../routing/spelling.js";
import type { ReadLimits } from "../values/poll-options.js";
import { PolledMessages } from "../values/polled-messages.js";
import { PollingStrategy } from "../values/polling-strategy.js";
import { type Checkpoint, isZeroContext } from "../values/position.js";
import { type Caller, type CallOptions, decoded, decoding } from "./caller.js";
import { consumerKey } from "./consumer-target.js";
import { commitsOnRead, readEffect, readMarginMs, remainingFetchTimes, type ReplySettings } from "./polls.js";
import { findRoute } from "./find-route.js";
import { TimeLeft } from "./time-left.js";

/** One partition of a grouped read. */
export interface FetchTargetCall {
  readonly partitionId: number;
  readonly strategy: PollingStrategy;
  readonly maxBytes: number;
  /** History to read from; the current one without it. */
  readonly context: PartitionContext | undefined;
}

export interface FetchCall {
  readonly topic: TopicName;
  readonly consumer: WireConsumer;
  readonly targets: readonly FetchTargetCall[];
  readonly limits: ReadLimits;
  readonly about: Readonly<Record<string, unknown>>;
  /** An abort of a read that commits cancels it and waits for what it did. */
  readonly awaitsOutcome?: boolean;
}

/** What one partition of a grouped read answered. */
export interface FetchSection {
  readonly partitionId: number;
  /** 0, or the error code of this partition. */
  readonly status: number;
  /** The refusal of this partition, or what is wrong with its messages. */
  readonly error: IggyError | undefined;
  readonly messages: PolledMessages | undefined;
  readonly currentOffset: bigint;
  readonly checkpoint: Checkpoint | null;
  /** Where the next read of the partition starts. */
  readonly continuation: PollingStrategy;
}

export interface FetchResult {
  readonly sections: readonly FetchSection[];
}

/** What became of the targets that one primary was asked for. */
type GroupOutcome =
  | { readonly kind: "read"; readonly sections: readonly FetchSection[] }
  | { readonly kind: "failed"; readonly targets: readonly FetchTargetCall[]; readonly error: unknown };

interface Placed {
  readonly target: FetchTargetCall;
  readonly route: Route;
}

/** Grouped reads: one request to each primary that leads some of the partitions. */
export class FetchCalls {
  readonly #caller: Caller;
  readonly #routes: PartitionRoutes;
  readonly #settings: ReplySettings;

  constructor(caller: Caller, routes: PartitionRoutes, settings: ReplySettings) {
    this.#caller = caller;
    this.#routes = routes;
    this.#settings = settings;
  }

  /** One section per target, in their order. Rejects when every primary failed; else a failure is that of its sections. */
  async fetch(call: FetchCall, options: CallOptions = {}): Promise<FetchResult> {
    checkTargets(call);
    const time = new TimeLeft({ ...options, timeout: options.timeout ?? call.limits.maxWaitMs + readMarginMs });
    const outcomes = await this.#fetchTargets(call, call.targets, 0, time);
    options.signal?.throwIfAborted();
    const [first] = outcomes;
    if (first?.kind === "failed" && outcomes.every(({ kind }) => kind === "failed")) throw first.error;
    const sections = outcomes.flatMap((outcome) =>
      outcome.kind === "read" ? outcome.sections : failedSections(outcome.targets, outcome.error),
    );
    const byPartition = new Map(sections.map((section) => [section.partitionId, section]));
    return { sections: call.targets.flatMap(({ partitionId }) => byPartition.get(partitionId) ?? []) };
  }

  /** The replica that leads a partition, as far as it is known without asking. */
  knownPrimary(topic: TopicName, partitionId: number): number | undefined {
    return this.#routes.usable({ ...topic, partitionId })?.primaryReplica;
  }

  /** The replica that leads a partition. */
  async primary(topic: TopicName, partitionId: number, options: CallOptions): Promise<number> {
    return (await findRoute(this.#routes, { ...topic, partitionId }, options)).primaryReplica;
  }

  /** Reads targets from their primaries. Those of a primary that is none any more are grouped again. */
  async #fetchTargets(
    call: FetchCall,
    targets: readonly FetchTargetCall[],
    round: number,
    time: TimeLeft,
  ): Promise<readonly GroupOutcome[]> {
    const placed: Placed[] = [];
    const outcomes: GroupOutcome[] = [];
    await Promise.all(
      targets.map(async (target) => {
        const partition = { ...call.topic, partitionId: target.partitionId };
        try {
          // A known route takes no wait, and a read of many partitions no timer for each.
          const route = this.#routes.usable(partition) ?? (await findRoute(this.#routes, partition, time.options()));
          placed.push({ target, route });
        } catch (error) {
          outcomes.push({ kind: "failed", targets: [target], error });
        }
      }),
    );
    const fetched = await Promise.all(byPrimary(placed).map((group) => this.#fetchPlaced(call, group, round, time)));
    return [...outcomes, ...fetched.flat()];
  }

  async #fetchPlaced(
    call: FetchCall,
    group: readonly Placed[],
    round: number,
    time: TimeLeft,
  ): Promise<readonly GroupOutcome[]> {
    const targets = group.map(({ target }) => target);
    try {
      return [{ kind: "read", sections: await this.#fetchGroup(call, group, time) }];
    } catch (error) {
      if (!IggyError.is(error, ErrorCode.NotPrimary)) return [{ kind: "failed", targets, error }];
    }
    // Once the same view is good enough; after that only a newer one is.
    for (const { route } of group) {
      if (round === 0) this.#routes.cache.regroup(route);
      else this.#routes.cache.notPrimary(route);
    }
    return this.#fetchTargets(call, targets, round + 1, time);
  }

  async #fetchGroup(call: FetchCall, group: readonly Placed[], time: TimeLeft): Promise<readonly FetchSection[]> {
    const commits = commitsOnRead(call.limits);
    const fromStored = group.some(({ target }) => target.strategy.kind === "next");
    const options = time.options();
    const timeoutMs = Number(options.timeout);
    // Those that start at an offset leave the progress of their partition alone.
    const lanes = group
      .filter(({ target }) => commits || target.strategy.kind === "next")
      .sort((a, b) => a.target.partitionId - b.target.partitionId)
      .map(({ target, route }) => partitionLane(contextOf(target, route).incarnation, target.partitionId));
    const frameAt = (elapsedMs: number): Uint8Array =>
      this.#caller.encoded(fetchMessages, this.#request(call, group, commits, timeoutMs, elapsedMs));
    const payload = await this.#caller.raw(
      {
        command: fetchMessages,
        effect: readEffect(commits, fromStored),
        target: { kind: "replica", replicaId: group[0]?.route.primaryReplica ?? 0 },
        progress: commits || fromStored ? { consumer: consumerKey(call.consumer), lanes } : undefined,
        isDeferred: true,
        awaitsOutcome: call.awaitsOutcome === true,
        frame: frameAt(0),
        laterFrame: frameAt,
        about: call.about,
      },
      options,
    );
    const request = this.#request(call, group, commits, timeoutMs, 0);
    return this.#sections(call, group, request, payload);
  }

  #request(
    call: FetchCall,
    group: readonly Placed[],
    commits: boolean,
    timeoutMs: number,
    elapsedMs: number,
  ): FetchMessagesRequest {
    // The whole reply, its table included, must fit one frame.
    const table = 4 + FETCH_SECTION_SIZE * group.length;
    const maxBytes = Math.min(call.limits.maxBytes, this.#settings.maxFrameSize - HEADER_SIZE - table);
    return {
      consumer: call.consumer,
      ...call.topic,
      ...remainingFetchTimes(call.limits.maxWaitMs, timeoutMs, elapsedMs),
      minCount: call.limits.minCount,
      count: call.limits.count,
      maxBytes,
      autoCommit: commits,
      targets: group.map(({ target, route }) => {
        const { incarnation, ownerGeneration } = contextOf(target, route);
        return {
          partitionId: target.partitionId,
          strategy: { kind: target.strategy.kind, value: target.strategy.value },
          maxBytes: Math.min(target.maxBytes, maxBytes),
          incarnation,
          ownerGeneration,
        };
      }),
    };
  }

  #sections(
    call: FetchCall,
    group: readonly Placed[],
    request: FetchMessagesRequest,
    payload: Uint8Array,
  ): readonly FetchSection[] {
    const reply = decoded(fetchMessages, payload);
    decoding(fetchMessages, () => checkFetchReply(request, reply));
    const asked = new Map(group.map((placed) => [placed.target.partitionId, placed]));
    return fetchSections(reply).flatMap(({ section, records }) => {
      const { partitionId, status } = section;
      const found = asked.get(partitionId);
      if (found === undefined) return [];
      const { strategy } = found.target;
      if (status !== 0) {
        if (status === ErrorCode.NotPrimary) this.#routes.cache.regroup(found.route);
        const error = errorOf(status, `message.fetch of partition ${String(partitionId)} failed`, {
          commandCode: fetchMessages.code,
          context: { ...call.about, partitionId },
        });
        return failedSection(found.target, status, error);
      }
      try {
        const messages = new PolledMessages({ ...section, records }, strategy, {
          maxCount: call.limits.count,
          verifyChecksums: this.#settings.verifyChecksums,
        });
        return readSection(section, messages);
      } catch (error) {
        if (!(error instanceof UndecodableMessagesError)) throw error;
        return failedSection(found.target, error.code, error);
      }
    });
  }
}

function readSection(
  { partitionId, context, currentOffset, nextOffset }: WireSection,
  messages: PolledMessages,
): FetchSection {
  const bound = { partitionId, context };
  // A node that could not serve the partition names no history: the start stays as it was.
  const isUnserved = messages.count === 0 && isZeroContext(context);
  return {
    partitionId,
    status: 0,
    error: undefined,
    messages,
    currentOffset,
    checkpoint: messages.checkpoint,
    continuation: isUnserved
      ? messages.continuation
      : PollingStrategy.continuing(PollingStrategy.Offset(nextOffset), bound),
  };
}

const failedSection = ({ partitionId, strategy }: FetchTargetCall, status: number, error: IggyError): FetchSection => ({
  partitionId,
  status,
  error,
  messages: undefined,
  currentOffset: 0n,
  checkpoint: null,
  continuation: strategy,
});

function failedSections(targets: readonly FetchTargetCall[], error: unknown): readonly FetchSection[] {
  if (!(error instanceof IggyError)) throw error;
  return targets.map((target) => failedSection(target, error.code, error));
}

function checkTargets({ targets, consumer }: FetchCall): void {
  if (consumer.kind === "external_group") {
    throw new FeatureUnavailableError("an external group holds offsets only; it can not be read");
  }
  if (targets.length < 1 || targets.length > MAX_FETCH_SECTIONS) {
    throw new ValidationError(ErrorCode.InvalidCommand, `targets takes 1 to ${String(MAX_FETCH_SECTIONS)} partitions`);
  }
  if (new Set(targets.map(({ partitionId }) => partitionId)).size !== targets.length) {
    throw new ValidationError(ErrorCode.InvalidCommand, "targets names a partition twice");
  }
  if (targets.some(({ strategy }) => strategy.kind !== "offset" && strategy.kind !== "next")) {
    throw new ValidationError(ErrorCode.InvalidCommand, "a fetch starts at an offset or at Next");
  }
}

function contextOf({ context, strategy }: FetchTargetCall, route: Route): PartitionContext {
  return (
    strategy.bound?.context ??
    context ?? { incarnation: route.incarnation, ownerGeneration: 0n, metadataOp: route.metadataOp }
  );
}

function byPrimary(placed: readonly Placed[]): readonly (readonly Placed[])[] {
  const groups = new Map<number, Placed[]>();
  for (const entry of placed) {
    const group = groups.get(entry.route.primaryReplica) ?? [];
    group.push(entry);
    groups.set(entry.route.primaryReplica, group);
  }
  return [...groups.values()];
}
