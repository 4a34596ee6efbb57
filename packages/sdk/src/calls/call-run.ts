import { ErrorCode, isPartitionOperation, Operation as Op, type PartitionContext } from "@iggy/protocol";
import { type IggyError, ProtocolFrameError, UnauthenticatedError, ValidationError } from "../errors/index.js";
import { type Attempt, type Link, RequestFrame } from "../link/index.js";
import type { PartitionRoutes } from "../routing/partition-routes.js";
import type { Route } from "../routing/route-cache.js";
import type { Router, Slot } from "../routing/router.js";
import { randomId } from "../session/random-identity.js";
import type { RequestNumbers } from "../session/request-numbers.js";
import type { Session } from "../session/session.js";
import { type Random, retryPauseMs } from "../time/backoff.js";
import { monotonicMs } from "../time/timers.js";
import type { Call } from "./call.js";
import { refusalOf } from "./call-errors.js";
import { type CallState, decide, type RouteFault, type Step } from "./decide.js";
import { type Scope, ScopeEnded } from "./scope.js";

/** What each attempt tells a debug hook. */
export interface RequestInfo {
  readonly code: number;
  readonly name: string;
  readonly replicaId: number | undefined;
  /** 1 for the first attempt of a call. */
  readonly attempt: number;
  readonly bytes: number;
}

export interface ResponseInfo extends RequestInfo {
  readonly durationMs: number;
  /** Error code of a refusal, or `lost`, or `ended` when the call gave up first. */
  readonly error?: number | "lost" | "ended";
}

/** Sees every attempt of every call. An error thrown here is the hook's own. */
export interface Instrumentation {
  readonly onRequest?: (info: RequestInfo) => void;
  readonly onResponse?: (info: ResponseInfo) => void;
}

export interface RunEnvironment {
  readonly session: Session;
  readonly numbers: RequestNumbers;
  readonly router: Router;
  readonly routes: PartitionRoutes;
  readonly random: Random;
  readonly instrumentation: Instrumentation;
}

/** A call must begin again under the current history of its partition. */
export class StartOver extends Error {}

/** The outcome of a call can not be learned now. */
export class Uncertain extends Error {
  readonly code: number | undefined;
  constructor(code: number | undefined) {
    super("outcome unknown");
    this.code = code;
  }
}

/**
 * The attempts of one call: places each on a link, sends the same frame until something final comes back. Lanes, budgets
 * and what becomes of an unknown outcome are the engine's.
 */
export class CallRun {
  readonly #env: RunEnvironment;
  readonly #call: Call;
  readonly #scope: Scope;
  readonly #signIn: number;
  readonly #context: PartitionContext | undefined;
  readonly #startedOver: boolean;
  readonly #onSent: () => void;
  readonly #onLate: ((attempt: Attempt) => void) | undefined;

  #frame: RequestFrame | undefined;
  #frameFence = -1;
  #route: Route | undefined;
  #link: Link | undefined;
  #fault: IggyError | undefined;
  #attempts = 0;
  #retries = 0;
  #notPrimaryInARow = 0;
  #brokenLinks = 0;
  #lastCode: number | undefined;
  #wasSent = false;
  #isUncertain = false;
  #isAbandoned = false;
  #isSettled = false;
  #isBufferUsed: boolean;
  /** Link that took the frame of the current attempt. */
  #sentOn: Link | undefined;

  constructor(
    env: RunEnvironment,
    call: Call,
    scope: Scope,
    options: {
      readonly signIn: number;
      /** Fences of a partition request, fixed for all its attempts. */
      readonly context: PartitionContext | undefined;
      readonly startedOver: boolean;
      readonly onSent?: () => void;
      readonly onLate?: (attempt: Attempt) => void;
      /** A frame whose outcome is to be proved. */
      readonly replay?: { readonly frame: RequestFrame; readonly fence: number };
    },
  ) {
    this.#env = env;
    this.#call = call;
    this.#scope = scope;
    this.#signIn = options.signIn;
    this.#context = options.context;
    this.#startedOver = options.startedOver;
    this.#isBufferUsed = options.startedOver;
    this.#onSent = options.onSent ?? (() => undefined);
    this.#onLate = options.onLate;
    if (options.replay !== undefined) {
      this.#frame = options.replay.frame;
      this.#frameFence = options.replay.fence;
      this.#isUncertain = true;
    }
  }

  /** The frame of the operation, once it was made, and the session it belongs to. */
  get frame(): RequestFrame | undefined {
    return this.#frame;
  }

  get fence(): number {
    return this.#frameFence;
  }

  /** Whether the call may have taken effect. */
  get isUncertain(): boolean {
    return this.#isUncertain;
  }

  /** Whether the error that the call ends with says what became of it. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** The code that a call without a result ends with: 57 when a reply is missing, else what the server said last. */
  get pendingCode(): number {
    return this.#lastCode ?? (this.#wasSent ? ErrorCode.TransientNotCommitted : ErrorCode.TransientNotAccepted);
  }

  /** Why the replica that should take the call has no link. */
  get fault(): IggyError | undefined {
    return this.#fault;
  }

  /** The caller gave up: a read that the server holds back is cancelled, and nothing is sent again. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#cancel();
  }

  #cancel(): void {
    if (this.#call.isDeferred === true && this.#frame !== undefined) this.#sentOn?.cancel(this.#frame);
  }

  async payload(): Promise<Uint8Array> {
    for (;;) {
      const step = await this.#attempt();
      switch (step.kind) {
        case "done":
          return step.payload;
        case "fail":
          this.#isSettled = true;
          this.#blameRoute(step.route);
          throw refusalOf(this.#call, step.code, step.cause);
        case "uncertain":
          this.#isUncertain = true;
          this.#blameRoute(step.route);
          throw new Uncertain(step.code);
        case "confirm-missing":
          await this.#confirmMissing(step.code);
          continue;
        case "renew":
          this.#blameRoute(step.route);
          this.#frame = undefined;
          if (step.route === "history-lost") throw new StartOver();
          await this.#pause(step.pause);
          continue;
        case "retry":
          await this.#prepareRetry(step);
      }
    }
  }

  async #attempt(): Promise<Step> {
    await this.#env.router.whenReady(this.#scope);
    if (this.#env.session.signIn !== this.#signIn) {
      throw new UnauthenticatedError(`${this.#call.command.name} belongs to an earlier sign-in`);
    }
    const slot = await this.#place();
    if (slot === undefined) return retryLater;
    const frame = this.#frameFor();
    const attempt = await this.#exchange(slot, frame);
    if (attempt.kind === "ended") throw new ScopeEnded(attempt.end);
    if (attempt.kind === "lost" && attempt.error instanceof ProtocolFrameError) this.#brokenLinks++;
    if (attempt.kind === "refused" && attempt.code === ErrorCode.StaleClient) {
      slot.link.fail(refusalOf(this.#call, attempt.code));
    }
    const step = decide(attempt, this.#state());
    if (this.#isAbandoned && step.kind === "retry") throw refusalOf(this.#call, this.pendingCode);
    return step;
  }

  /** The link of the next attempt, or none when nobody can take the request now. */
  async #place(): Promise<Slot | undefined> {
    const { router, routes } = this.#env;
    const { target } = this.#call;
    switch (target.kind) {
      case "metadata":
        return router.metadataSlot() ?? this.#whenOpened("metadata");
      case "replica":
        return router.replicaSlot(target.replicaId) ?? this.#whenOpened(target.replicaId);
      case "partition": {
        const found = await routes.find(target.partition, this.#scope);
        if (found.kind === "route") {
          this.#route = found.route;
          const { primaryReplica } = found.route;
          return router.replicaSlot(primaryReplica) ?? this.#whenOpened(primaryReplica);
        }
        if (found.code === ErrorCode.TransientNotAccepted) return undefined;
        if (this.#isUncertain) throw new Uncertain(found.code);
        throw refusalOf(this.#call, found.code);
      }
    }
  }

  /** The link of a replica once its first dial is over, if it got one. */
  async #whenOpened(replica: number | "metadata"): Promise<Slot | undefined> {
    const { router } = this.#env;
    await router.whenOpened(replica, this.#scope);
    if (replica === "metadata") return router.metadataSlot();
    const slot = router.replicaSlot(replica);
    this.#fault = slot === undefined ? router.faultOf(replica) : undefined;
    return slot;
  }

  /** The frozen frame, or a new one when there is none or its session is gone. */
  #frameFor(): RequestFrame {
    const { session } = this.#env;
    if (this.#frame !== undefined && this.#frameFence === session.fence) {
      const { laterFrame } = this.#call;
      if (laterFrame !== undefined) this.#frame = new RequestFrame(this.#frame, laterFrame(this.#scope.elapsedMs));
      return this.#frame;
    }
    // What may have happened under a session that is gone can not be proved any more.
    if (this.#isUncertain) throw new Uncertain(undefined);
    this.#frame = this.#freeze();
    this.#frameFence = session.fence;
    return this.#frame;
  }

  #freeze(): RequestFrame {
    const { session, numbers } = this.#env;
    const { command } = this.#call;
    const isRead = command.operation === Op.NonReplicated;
    const isPartition = isPartitionOperation(command.operation);
    const context = this.#context;
    const frame = new RequestFrame(
      {
        client: session.clientId,
        request: numbers.next(),
        session: session.epoch,
        operation: command.operation,
        commandCode: isRead ? command.code : 0,
        requestChecksum: isRead || isPartition ? 0n : randomId(),
        partitionIncarnation: context?.incarnation ?? 0n,
        ownerGeneration: context?.ownerGeneration ?? 0n,
        minimumMetadataOp: context?.metadataOp ?? (isRead ? session.watermark : 0n),
      },
      this.#buffer(),
    );
    if (frame.size > maxFrameBytes) {
      throw new ValidationError(ErrorCode.InvalidSizeBytes, `${command.name}: the request does not fit a frame`);
    }
    return frame;
  }

  /** The call's buffer for its first frame; a copy for the next, since the first may still be on its way out. */
  #buffer(): Uint8Array {
    const { frame, laterFrame } = this.#call;
    if (this.#isBufferUsed) return laterFrame?.(this.#scope.elapsedMs) ?? new Uint8Array(frame);
    this.#isBufferUsed = true;
    return frame;
  }

  async #exchange(slot: Slot, frame: RequestFrame): Promise<Attempt> {
    const { onRequest, onResponse } = this.#env.instrumentation;
    this.#attempts++;
    this.#link = slot.link;
    const info: RequestInfo = {
      code: this.#call.command.code,
      name: this.#call.command.name,
      replicaId: slot.replicaId,
      attempt: this.#attempts,
      bytes: frame.size,
    };
    onRequest?.(info);
    const startedAt = onResponse === undefined ? 0 : monotonicMs();
    const attempt = await slot.link.exchange(frame, this.#scope, {
      onSent: () => {
        this.#sentOn = slot.link;
        this.#onSent();
      },
      ...(this.#onLate === undefined ? {} : { onLate: this.#onLate }),
    });
    this.#note(attempt);
    this.#sentOn = undefined;
    onResponse?.({ ...info, durationMs: monotonicMs() - startedAt, ...errorInfoOf(attempt) });
    return attempt;
  }

  #note(attempt: Attempt): void {
    switch (attempt.kind) {
      case "success":
      case "refused":
        this.#wasSent = true;
        this.#lastCode = undefined;
        return;
      case "lost":
        if (attempt.sent) this.#wasSent = true;
        this.#lastCode = attempt.sent ? ErrorCode.TransientNotCommitted : this.#lastCode;
        return;
      case "ended":
        if (!attempt.sent) return;
        this.#wasSent = true;
        this.#lastCode = ErrorCode.TransientNotCommitted;
        if (this.#call.effect === "write" || this.#call.effect === "committing-read") this.#isUncertain = true;
        this.#cancel();
    }
  }

  #state(): CallState {
    return {
      effect: this.#call.effect,
      target: this.#call.target.kind,
      isUncertain: this.#isUncertain,
      isPinned: this.#call.context !== undefined,
      mayStartOver: this.#call.mayStartOver === true && !this.#startedOver,
      notPrimaryInARow: this.#notPrimaryInARow,
      brokenLinks: this.#brokenLinks,
    };
  }

  async #prepareRetry(step: Extract<Step, { readonly kind: "retry" }>): Promise<void> {
    if (step.becomesUncertain) this.#isUncertain = true;
    if (step.lastCode !== undefined) this.#lastCode = step.lastCode;
    this.#notPrimaryInARow = step.route === "not-primary" ? this.#notPrimaryInARow + 1 : 0;
    if (step.closeLink) this.#link?.fail(refusalOf(this.#call, ErrorCode.Unauthenticated));
    else await this.#refresh(step.route);
    await this.#pause(step.pause);
  }

  /** Learns where the request should have gone. */
  async #refresh(fault: RouteFault): Promise<void> {
    if (fault === "none") return;
    const { target } = this.#call;
    if (target.kind === "partition") {
      this.#blameRoute(fault);
      return;
    }
    const slot = this.#env.router.readySlots().find(({ link }) => link === this.#link);
    if (target.kind === "metadata" && slot !== undefined) await this.#env.router.refreshRoster(slot, this.#scope);
  }

  #blameRoute(fault: RouteFault): void {
    const route = this.#route;
    if (route === undefined) return;
    const { cache } = this.#env.routes;
    switch (fault) {
      case "not-primary":
        cache.notPrimary(route);
        return;
      case "unavailable":
        cache.unavailable(route);
        return;
      case "history-lost":
        cache.historyLost(route);
        return;
      case "none":
        return;
    }
  }

  /** "Not found" counts when the node that says it leads the metadata; another may lag behind. */
  async #confirmMissing(code: number): Promise<void> {
    const slot = this.#env.router.readySlots().find(({ link }) => link === this.#link);
    const isFinal = slot !== undefined && (await this.#env.router.isMetadataPrimary(slot, this.#scope));
    this.#blameRoute("history-lost");
    if (isFinal) {
      if (this.#isUncertain) throw new Uncertain(code);
      throw refusalOf(this.#call, code);
    }
    this.#lastCode = ErrorCode.TransientNotAccepted;
    await this.#pause(true);
  }

  async #pause(wanted: boolean): Promise<void> {
    if (!wanted) {
      this.#scope.throwIfEnded();
      return;
    }
    const ms = retryPauseMs(this.#retries, this.#env.random);
    this.#retries++;
    if (!(await this.#scope.pause(ms))) throw new ScopeEnded({ kind: "deadline" });
  }
}

/** The size of a frame is a u32. */
const maxFrameBytes = 0xffff_ffff;

const retryLater: Step = {
  kind: "retry",
  pause: true,
  route: "unavailable",
  becomesUncertain: false,
  closeLink: false,
  lastCode: undefined,
};

function errorInfoOf(attempt: Attempt): Pick<ResponseInfo, "error"> {
  switch (attempt.kind) {
    case "success":
      return {};
    case "refused":
      return { error: attempt.code };
    case "lost":
      return { error: "lost" };
    case "ended":
      return { error: "ended" };
  }
}
