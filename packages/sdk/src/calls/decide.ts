import { ErrorCode, provesNothingStored } from "@iggy/protocol";
import {
  EvictionError,
  IncompatibleProtocolVersionError,
  type IggyError,
  ProtocolFrameError,
} from "../errors/index.js";
import type { Attempt } from "../link/index.js";

/**
 * What a repeated request may do: a plain read has no effect; a read from the stored offset may skip what an earlier
 * attempt delivered; a committing read stores an offset; a write changes state.
 */
export type Effect = "read" | "next-read" | "committing-read" | "write";

/** What the engine knows of a call when an attempt comes back. */
export interface CallState {
  readonly effect: Effect;
  readonly target: "metadata" | "partition" | "replica";
  /** Whether an earlier attempt may have taken effect. */
  readonly isUncertain: boolean;
  /** Whether the caller named a partition history, which then holds for the whole call. */
  readonly isPinned: boolean;
  /** Whether the call may start over with a fresh history, once. */
  readonly mayStartOver: boolean;
  readonly notPrimaryInARow: number;
  /** Links that a malformed frame ended during this call, the one of this attempt included. */
  readonly brokenLinks: number;
}

/** What the refusal says about the route that was used. */
export type RouteFault = "not-primary" | "unavailable" | "history-lost" | "none";

export type Step =
  | { readonly kind: "done"; readonly payload: Uint8Array }
  | { readonly kind: "fail"; readonly code: number; readonly route: RouteFault; readonly cause?: IggyError }
  /** The outcome is unknown and no further attempt can prove it now. */
  | { readonly kind: "uncertain"; readonly code: number | undefined; readonly route: RouteFault }
  /** The same frame again. */
  | {
      readonly kind: "retry";
      readonly pause: boolean;
      readonly route: RouteFault;
      readonly becomesUncertain: boolean;
      /** The connection lost its session: it is closed and bound again. */
      readonly closeLink: boolean;
      readonly lastCode: number | undefined;
    }
  /** A new request under a new number. */
  | { readonly kind: "renew"; readonly pause: boolean; readonly route: RouteFault }
  /** Something is missing. Only the metadata primary knows that for sure. */
  | { readonly kind: "confirm-missing"; readonly code: number };

const missing: ReadonlySet<number> = new Set([
  ErrorCode.StreamIdNotFound,
  ErrorCode.StreamNameNotFound,
  ErrorCode.TopicIdNotFound,
  ErrorCode.TopicNameNotFound,
  ErrorCode.PartitionNotFound,
]);

type Ended = Extract<Attempt, { readonly kind: "ended" }>;

/** What follows from one attempt. Pure: the table of retries, as code. */
export function decide(attempt: Exclude<Attempt, Ended>, call: CallState): Step {
  switch (attempt.kind) {
    case "success":
      // After an attempt with an unknown outcome only the proof of a commit counts.
      if (call.effect === "write" && call.isUncertain && !attempt.proven) return retry({ pause: true });
      return { kind: "done", payload: attempt.payload };
    case "lost":
      return attempt.sent ? lostAfterSend(attempt.error, call) : retry({ route: "unavailable", pause: true });
    case "refused":
      if (attempt.proven) return { kind: "fail", code: attempt.code, route: "none" };
      return refused(attempt.code, call);
  }
}

function lostAfterSend(error: IggyError, call: CallState): Step {
  if (call.effect === "committing-read") return { kind: "uncertain", code: error.code, route: "unavailable" };
  const isFinal =
    isFinalEviction(error) || (error instanceof ProtocolFrameError && call.brokenLinks > 1 && call.effect !== "write");
  if (isFinal) {
    return call.effect === "write"
      ? { kind: "uncertain", code: error.code, route: "none" }
      : { kind: "fail", code: error.code, route: "none", cause: error };
  }
  if (call.effect === "next-read") {
    return { kind: "fail", code: ErrorCode.TransientNotCommitted, route: "unavailable", cause: error };
  }
  return retry({ pause: true, route: "unavailable", becomesUncertain: call.effect === "write" });
}

/** Evictions that the same request would meet again: the client is wrong, or too old. */
const isFinalEviction = (error: IggyError): boolean =>
  error instanceof IncompatibleProtocolVersionError ||
  (error instanceof EvictionError &&
    (error.code === ErrorCode.InvalidCommand || error.code === ErrorCode.InvalidFormat));

function refused(code: number, call: CallState): Step {
  if (call.effect === "committing-read" && !provesNothingStored(code, "request")) {
    return { kind: "uncertain", code, route: "none" };
  }
  switch (code) {
    case ErrorCode.TransientNotCommitted:
      if (call.effect === "next-read") return { kind: "fail", code, route: "none" };
      return retry({ pause: true, becomesUncertain: call.effect === "write", lastCode: code });
    case ErrorCode.TransientNotAccepted:
      return retry({ pause: true, route: "unavailable", lastCode: code });
    case ErrorCode.NotPrimary:
      if (call.target === "replica") return { kind: "fail", code, route: "none" };
      return retry({ pause: call.notPrimaryInARow > 0, route: "not-primary", lastCode: code });
    case ErrorCode.DeferredPollCapacityExceeded:
      return retry({ pause: true, lastCode: code });
    case ErrorCode.LifecycleBusy:
      return call.isUncertain ? uncertain(code) : { kind: "renew", pause: true, route: "none" };
    case ErrorCode.HistoryUnavailable:
      if (call.isUncertain) return uncertain(code, "history-lost");
      return call.mayStartOver && !call.isPinned
        ? { kind: "renew", pause: false, route: "history-lost" }
        : { kind: "fail", code, route: "history-lost" };
    case ErrorCode.ConsumerGroupPartitionNotOwned:
      return call.isUncertain ? uncertain(code, "history-lost") : { kind: "fail", code, route: "history-lost" };
    case ErrorCode.Unauthenticated:
      return retry({ pause: true, closeLink: true, lastCode: code });
    case ErrorCode.RequestAlreadyApplied:
    case ErrorCode.RequestTooOld:
      return { kind: "fail", code, route: "none" };
    default:
      if (call.target === "partition" && missing.has(code)) return { kind: "confirm-missing", code };
      return call.isUncertain ? uncertain(code) : { kind: "fail", code, route: "none" };
  }
}

const uncertain = (code: number, route: RouteFault = "none"): Step => ({ kind: "uncertain", code, route });

function retry(step: Partial<Omit<Extract<Step, { readonly kind: "retry" }>, "kind">>): Step {
  return {
    kind: "retry",
    pause: false,
    route: "none",
    becomesUncertain: false,
    closeLink: false,
    lastCode: undefined,
    ...step,
  };
}
