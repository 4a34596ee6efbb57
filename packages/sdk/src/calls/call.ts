import type { PartitionContext } from "@iggy/protocol";
import type { PartitionName } from "../routing/spelling.js";
import type { Effect } from "./decide.js";
import type { LaneKey } from "./lanes.js";

/** What the engine needs to know of a command. */
export interface CommandInfo {
  readonly code: number;
  readonly name: string;
  readonly title: string;
  readonly operation: number;
}

/** Where a request goes. */
export type Target =
  | { readonly kind: "metadata" }
  | { readonly kind: "partition"; readonly partition: PartitionName }
  | { readonly kind: "replica"; readonly replicaId: number };

export const metadataTarget: Target = { kind: "metadata" };

/** The progress of one consumer. */
export interface Progress {
  readonly consumer: string;
  /** Lanes of the partitions, in ascending order of their ids; without them the one of the call's partition. */
  readonly lanes?: readonly LaneKey[];
}

/** One call of one command. */
export interface Call {
  readonly command: CommandInfo;
  readonly effect: Effect;
  readonly target: Target;
  /** The encoded body, behind room for the header. The engine writes the header, so the buffer is the engine's. */
  readonly frame: Uint8Array;
  /** The same for an attempt that starts `elapsedMs` after the call: what a waiting read asks for shrinks. */
  readonly laterFrame?: ((elapsedMs: number) => Uint8Array) | undefined;
  /** History that the caller named; it holds for the whole call. Without one the route's is taken. */
  readonly context?: PartitionContext | undefined;
  /** A lost history may be replaced by the current one, once. */
  readonly mayStartOver?: boolean;
  /** Consumer whose progress the call moves or reads: such calls take turns. */
  readonly progress?: Progress | undefined;
  /** The server may hold the request back, so giving up tells it. */
  readonly isDeferred?: boolean;
  /** An abort after the request left cancels it and waits for its outcome, in the place of ending the wait. */
  readonly awaitsOutcome?: boolean;
  /** What the call is about, for errors: names and numbers, no secret. */
  readonly about: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Producer or consumer that makes the call. */
  readonly owner?: object | undefined;
  /** Resolves whatever blocks the lane, not the owner's operations only. */
  readonly resolvesAnyBlocker?: boolean;
}
