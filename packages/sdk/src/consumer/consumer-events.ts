/** What a consumer tells its listeners. */
export interface ConsumerEvents {
  /** A read or a store failed and is tried again. */
  error: { readonly error: unknown; readonly partitionId?: number };
  stored: { readonly partitionId: number; readonly offset: bigint };
  joined: object;
  /** The membership was lost and taken again; every partition starts from its stored offset. */
  rejoined: object;
  left: object;
  assigned: { readonly partitions: readonly number[] };
  revoked: { readonly partitions: readonly number[] };
}

export type ConsumerEventName = keyof ConsumerEvents;
