import {
  deleteConsumerOffset,
  ErrorCode,
  errorName,
  type PartitionContext,
  provesNothingStored,
  storeConsumerOffset,
} from "@iggy/protocol";
import {
  errorOf,
  FetchProgressUncertainError,
  IggyError,
  LaneBlockedError,
  OperationUncertainError,
  PartitionLaneBlockedError,
  ValidationError,
} from "../errors/index.js";
import type { Attempt } from "../link/index.js";
import type { PartitionName } from "../routing/spelling.js";
import type { Emit } from "../session/events.js";
import type { Call } from "./call.js";
import { aboutText, refusalOf, timeoutOf } from "./call-errors.js";
import { CallRun, type RunEnvironment, StartOver, Uncertain } from "./call-run.js";
import { type LaneKey, Lanes, metadataLane, partitionLane, partitionOfLane } from "./lanes.js";
import { type Operation, Operations } from "./operations.js";
import { Permits } from "./permits.js";
import { Scope, ScopeEnded } from "./scope.js";

export interface EngineSettings {
  /** Writes that are active or retained, and the bytes of their frames. Committing reads have as much again. */
  readonly maxOperations: number;
  readonly maxBytes: number;
  /** A later call resolves a retained operation of its own producer or consumer first. */
  readonly autoResolve: boolean;
  readonly emit: Emit;
  /** The cause of a call that found no link in time. */
  readonly lastError: () => IggyError | undefined;
}

/** Waiting reads of one client in flight at once; a server refuses more. */
export const maxDeferredRequests = 64;

/** Budget of operations and of the bytes that their frames hold. */
interface Pool {
  readonly operations: Permits;
  readonly bytes: Permits;
}

/** Partition history of a call and the lane that follows from it. */
interface History {
  readonly context: PartitionContext | undefined;
  readonly lane: LaneKey | undefined;
}

/**
 * Runs calls: what must wait its turn waits, what has an unknown outcome is kept. One call at most is in flight per lane.
 */
export class CallEngine {
  readonly operations: Operations;
  readonly #env: RunEnvironment;
  readonly #settings: EngineSettings;
  readonly #lanes: Lanes;
  /** Turns of the calls that move the progress of one consumer on a partition. */
  readonly #progress: Lanes;
  readonly #writes: Pool;
  readonly #committingReads: Pool;
  readonly #deferred = new Permits(maxDeferredRequests);
  readonly #active = new Set<Scope>();

  constructor(env: RunEnvironment, settings: EngineSettings) {
    this.#env = env;
    this.#settings = settings;
    this.operations = new Operations(settings.maxOperations);
    this.#lanes = new Lanes((blocker) => laneBlocked(blocker));
    this.#progress = new Lanes(progressBlocked);
    const pool = (): Pool => ({
      operations: new Permits(settings.maxOperations),
      bytes: new Permits(settings.maxBytes),
    });
    this.#writes = pool();
    this.#committingReads = pool();
  }

  /** Makes a call and resolves with the payload of its result. */
  async execute(call: Call): Promise<Uint8Array> {
    const scope = new Scope(call.timeoutMs, call.signal);
    let abandon = (): void => undefined;
    this.#active.add(scope);
    const work = this.#run(call, scope, (how) => (abandon = how)).finally(() => {
      this.#active.delete(scope);
      scope.dispose();
    });
    const { signal } = call;
    if (signal === undefined || !changes(call)) return work;
    if (call.awaitsOutcome === true) {
      const onAbort = (): void => abandon();
      signal.addEventListener("abort", onAbort, { once: true });
      return work.finally(() => signal.removeEventListener("abort", onAbort));
    }
    // Once a change may be under way, an abort ends the caller's wait; the work goes on until its outcome is known.
    const result = await new Promise<Uint8Array | undefined>((resolve, reject) => {
      const onAbort = (): void => {
        abandon();
        resolve(undefined);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      work.finally(() => signal.removeEventListener("abort", onAbort)).then(resolve, reject);
    });
    signal.throwIfAborted();
    return result ?? work;
  }

  /** Replays a retained write until its outcome is proved. Resolves when it committed, rejects with its refusal. */
  async resolve(id: bigint, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const proved = this.operations.proved(id);
    if (proved !== undefined && this.operations.find(id) === undefined) {
      if (proved.code !== 0)
        throw errorOf(proved.code, `operation ${String(id)} ended with ${errorName(proved.code)}`, {
          context: { operationId: id },
        });
      return;
    }
    const operation = this.operations.get(id);
    const scope = new Scope(timeoutMs, signal);
    this.#active.add(scope);
    try {
      await this.#replay(operation, scope);
    } catch (error) {
      if (scope.end?.kind === "stopped") throw scope.end.reason;
      throw error instanceof ScopeEnded ? stillUncertain(operation, error) : error;
    } finally {
      this.#active.delete(scope);
      scope.dispose();
    }
  }

  /** Goes on without knowing the outcome. */
  abandon(id: bigint): void {
    this.#letGo(this.operations.get(id));
  }

  /** The session is gone: its writes can not be replayed. Progress that may be stored blocks on. */
  dropSession(): void {
    for (const operation of this.operations.list()) if (operation.kind === "write") this.#letGo(operation);
    this.#env.routes.cache.clear();
  }

  /** The client is closed: every call ends now. */
  close(reason: IggyError): void {
    for (const scope of [...this.#active]) scope.stop(reason);
  }

  async #run(call: Call, scope: Scope, onAbandonable: (abandon: () => void) => void): Promise<Uint8Array> {
    let run: CallRun | undefined;
    let budget: (() => void) | undefined;
    let isDeferred = false;
    try {
      const signIn = await this.#env.router.beginCall(scope);
      await this.#env.router.whenReady(scope);
      budget = await this.#takeBudget(call, scope);
      if (call.isDeferred === true) {
        await this.#deferred.take(scope);
        isDeferred = true;
      }
      for (let startedOver = false; ; startedOver = true) {
        const history = await this.#historyOf(call, scope);
        const leave = await this.#takeTurns(call, history, scope);
        let retained: Operation | undefined;
        const current = new CallRun(this.#env, call, scope, {
          signIn,
          context: history.context,
          startedOver,
          onSent: () => {
            if (changes(call)) scope.ignoreSignal();
          },
          ...(call.effect === "committing-read"
            ? { onLate: (attempt: Attempt) => retained !== undefined && this.#settleLate(retained, attempt) }
            : {}),
        });
        run = current;
        onAbandonable(() => current.abandon());
        try {
          return await current.payload();
        } catch (error) {
          if (error instanceof StartOver) continue;
          if (!changes(call) || !current.isUncertain || current.isSettled) throw error;
          retained = this.#retain(call, current, history, budget);
          if (retained !== undefined) budget = undefined;
          throw uncertainError(call, current, error);
        } finally {
          leave();
        }
      }
    } catch (error) {
      if (error instanceof ScopeEnded) throw this.#endedError(call, error, run);
      throw error;
    } finally {
      if (isDeferred) this.#deferred.give();
      budget?.();
    }
  }

  /** Room among the active and retained operations; none is needed for plain reads. */
  async #takeBudget(call: Call, scope: Scope): Promise<(() => void) | undefined> {
    if (!changes(call)) return undefined;
    const pool = call.effect === "write" ? this.#writes : this.#committingReads;
    const size = call.frame.length;
    if (size > pool.bytes.capacity) {
      throw new ValidationError(
        ErrorCode.InvalidSizeBytes,
        `${call.command.name}: a frame of ${String(size)} bytes exceeds pendingOperations.maxBytes`,
        { commandCode: call.command.code, context: call.about },
      );
    }
    await pool.operations.take(scope);
    try {
      await pool.bytes.take(scope, size);
    } catch (error) {
      pool.operations.give();
      throw error;
    }
    return () => {
      pool.operations.give();
      pool.bytes.give(size);
    };
  }

  /** The fences of a partition request: the caller's, else those of its route. */
  async #historyOf(call: Call, scope: Scope): Promise<History> {
    if (call.target.kind !== "partition") {
      return { context: call.context, lane: call.effect === "write" ? metadataLane : undefined };
    }
    const { partition } = call.target;
    const context = call.context ?? (await this.#routeContext(call, partition, scope));
    return { context, lane: partitionLane(context.incarnation, partition.partitionId) };
  }

  async #routeContext(call: Call, partition: PartitionName, scope: Scope): Promise<PartitionContext> {
    const found = await this.#env.routes.findInTime(partition, scope);
    if (found.kind === "refused") throw refusalOf(call, found.code);
    const { incarnation, metadataOp } = found.route;
    return { incarnation, ownerGeneration: 0n, metadataOp };
  }

  /** Waits for the turns of the call: first among those that move the same progress, then in its lane. */
  async #takeTurns(call: Call, history: History, scope: Scope): Promise<() => void> {
    const leaves: (() => void)[] = [];
    const leave = (): void => {
      for (const step of leaves.reverse()) step();
    };
    try {
      const { lane } = history;
      for (const turn of progressLanes(call, lane)) {
        this.#throwIfProgressBlocked(turn);
        leaves.push(await this.#progress.enter(`${turn}/${call.progress?.consumer ?? ""}`, scope));
        this.#throwIfProgressBlocked(turn);
      }
      if (call.effect === "write" && lane !== undefined) {
        await this.#clearLane(call, lane, scope);
        leaves.push(await this.#lanes.enter(lane, scope));
        await this.#clearLane(call, lane, scope);
      }
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  #throwIfProgressBlocked(lane: LaneKey): void {
    this.#progress.throwIfBlocked(lane);
    const blocker = this.#lanes.blocker(lane);
    if (blocker !== undefined && isOffsetWrite(blocker.code)) throw laneBlocked(blocker);
  }

  async #clearLane(call: Call, lane: LaneKey, scope: Scope): Promise<void> {
    const blocker = this.#lanes.blocker(lane);
    if (blocker === undefined) return;
    const isOwn = call.owner !== undefined && (blocker.owner === call.owner || call.resolvesAnyBlocker === true);
    if (!this.#settings.autoResolve || !isOwn) throw laneBlocked(blocker);
    try {
      await this.#replay(blocker, scope);
    } catch (error) {
      // What became of the earlier call is its own affair, as long as the lane is free again.
      if (this.#lanes.blocker(lane) !== undefined) throw laneBlocked(blocker, error);
    }
  }

  #retain(call: Call, run: CallRun, history: History, release: (() => void) | undefined): Operation | undefined {
    const { frame, fence } = run;
    const isWrite = call.effect === "write";
    const lanes = isWrite ? laneList(history.lane) : progressLanes(call, history.lane);
    // A write of a session that is gone can not be replayed, so there is nothing to keep.
    if (frame === undefined || lanes.length === 0 || (isWrite && fence !== this.#env.session.fence)) {
      return undefined;
    }
    const operation: Operation = {
      id: BigInt(frame.request),
      code: call.command.code,
      title: call.command.title,
      kind: isWrite ? "write" : "committing-read",
      call,
      lanes,
      context: history.context,
      frame,
      fence,
      since: new Date(),
      owner: call.owner,
      release: () => release?.(),
    };
    this.operations.retain(operation);
    for (const lane of lanes) (isWrite ? this.#lanes : this.#progress).block(lane, operation);
    this.#settings.emit("operation-retained", { operationId: operation.id, code: operation.code });
    return operation;
  }

  async #replay(operation: Operation, scope: Scope): Promise<void> {
    if (operation.kind !== "write") {
      throw new FetchProgressUncertainError(
        "a committing read is never sent again: its offset may be stored, abandon it to go on",
        { operationId: operation.id },
      );
    }
    const { router, session } = this.#env;
    await router.whenReady(scope);
    const run = new CallRun(this.#env, operation.call, scope, {
      signIn: session.signIn,
      context: operation.context,
      startedOver: true,
      replay: { frame: operation.frame, fence: operation.fence },
    });
    try {
      await run.payload();
    } catch (error) {
      if (!run.isSettled || !(error instanceof IggyError)) throw stillUncertain(operation, error);
      this.#prove(operation, error.code);
      throw error;
    }
    this.#prove(operation, 0);
  }

  #prove(operation: Operation, code: number): void {
    this.operations.prove(operation, code);
    this.#letGo(operation);
  }

  #letGo(operation: Operation): void {
    if (!this.operations.drop(operation)) return;
    const blocked = operation.kind === "write" ? this.#lanes : this.#progress;
    for (const lane of operation.lanes) blocked.unblock(lane, operation);
  }

  /** The reply of a committing read came after its call ended: it tells whether the offset is stored. */
  #settleLate(operation: Operation, attempt: Attempt): void {
    const isKnown =
      attempt.kind === "success" || (attempt.kind === "refused" && provesNothingStored(attempt.code, "request"));
    if (isKnown) this.#letGo(operation);
  }

  #endedError(call: Call, { end }: ScopeEnded, run: CallRun | undefined): unknown {
    if (end.kind === "stopped") return end.reason;
    return timeoutOf(
      call,
      run?.pendingCode ?? ErrorCode.TransientNotAccepted,
      run?.fault ?? this.#settings.lastError(),
    );
  }
}

const changes = (call: Call): boolean => call.effect === "write" || call.effect === "committing-read";

const offsetWrites: ReadonlySet<number> = new Set([storeConsumerOffset.code, deleteConsumerOffset.code]);
const isOffsetWrite = (code: number): boolean => offsetWrites.has(code);

const laneBlocked = (blocker: Operation, cause?: unknown): IggyError =>
  new LaneBlockedError(`${blocker.title} with an unknown outcome blocks what follows it; nothing was sent`, {
    operationId: blocker.id,
    cause,
  });

function progressBlocked(blocker: Operation, lane: LaneKey): IggyError {
  const partitionId = partitionOfLane(lane);
  return new PartitionLaneBlockedError(
    `${blocker.title} may have stored an offset of partition ${String(partitionId)}; nothing was sent`,
    partitionId,
    { operationId: blocker.id },
  );
}

const laneList = (lane: LaneKey | undefined): readonly LaneKey[] => (lane === undefined ? [] : [lane]);

/** The partitions whose progress a call moves or reads. */
function progressLanes(call: Call, lane: LaneKey | undefined): readonly LaneKey[] {
  if (call.progress === undefined) return [];
  return call.progress.lanes ?? laneList(lane);
}

function stillUncertain(operation: Operation, cause: unknown): IggyError {
  return new OperationUncertainError(`the outcome of ${operation.title} is still unknown`, {
    operationId: operation.id,
    cause: isInternal(cause) ? undefined : cause,
  });
}

function uncertainError(call: Call, run: CallRun, error: unknown): IggyError {
  const code = error instanceof Uncertain ? error.code : undefined;
  const cause = code === undefined ? (isInternal(error) ? undefined : error) : refusalOf(call, code);
  const details = {
    operationId: BigInt(run.frame?.request ?? 0),
    commandCode: call.command.code,
    context: call.about,
    cause,
  };
  const text = `${call.command.name} may have taken effect: no reply proved it${aboutText(call.about)}`;
  return call.effect === "write"
    ? new OperationUncertainError(text, details)
    : new FetchProgressUncertainError(text, details);
}

const isInternal = (error: unknown): boolean => error instanceof Uncertain || error instanceof ScopeEnded;
