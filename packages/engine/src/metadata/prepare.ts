import type { MetadataEffect } from "./effects.js";

/** One committed operation of the metadata group: everything that applying it may depend on, beside the state. */
export interface MetadataPrepare {
  /** Log position, 1-based and dense. */
  readonly op: number;
  /** Time that the primary stamped, µs, strictly increasing. The only time the state machine knows. */
  readonly timestampMicros: number;
  /** Identity checksum of the prepare. That of op 1 names the history. */
  readonly checksum: bigint;
  readonly operation: number;
  /** Client id of the acting session; 0 for an operation that the server originated. */
  readonly client: bigint;
  /** Epoch of the acting session; 0 for Register and for operations of the server. */
  readonly session: number;
  readonly request: number;
  readonly requestChecksum: bigint;
  /** Acting user; the server acts as root (0). */
  readonly userId: number;
  /** View in which the primary ordered it, kept for replayed replies. */
  readonly view: number;
  readonly body: Uint8Array;
  /** Session capacity that the prepare nominates. The first applied prepare fixes it; without one the configured value does. */
  readonly retryCapacity?: number;
}

export interface MetadataApplied {
  /** 0, or the committed refusal. */
  readonly code: number;
  /** Reply payload behind the result section; empty with a refusal. */
  readonly payload: Uint8Array;
  /** What the node must carry into partitions and connections, in order. */
  readonly effects: readonly MetadataEffect[];
}
