/** What consumers tell their listeners. */
export interface ConsumerEvents {
  /** A read, a store or the membership failed and is tried again. */
  error: { readonly error: unknown; readonly partitionId?: number };
  /** An offset was stored by the policy `Auto`. */
  stored: { readonly partitionId: number; readonly offset: bigint };
  /** Messages `from` up to, not including, `to` exist no more: retention removed them before they were read. */
  gap: { readonly partitionId: number; readonly from: bigint; readonly to: bigint };
  joined: object;
  /** The membership was lost and taken again; every partition starts from its stored offset. */
  rejoined: object;
  left: object;
  assigned: { readonly partitions: readonly number[] };
  /** These partitions belong to somebody else now. What was read of them and not handed over is dropped. */
  revoked: { readonly partitions: readonly number[] };
  /** A handler failed, or its dead letter could not be sent, and is tried again. */
  retry: { readonly partitionId: number; readonly offset: bigint; readonly error: unknown };
  /** A message was sent to the dead-letter topic, and counts as handled. */
  "dead-letter": {
    readonly partitionId: number;
    readonly offset: bigint;
    readonly error: unknown;
    readonly attempts: number;
  };
}

export type ConsumerEventName = keyof ConsumerEvents;

/** What readers, which call no handlers, tell theirs. */
export type ReaderEventName = Exclude<ConsumerEventName, "retry" | "dead-letter">;
