/** One ordered operation of a partition: everything that applying it may depend on, beside the state. */
export interface PartitionPrepare {
  /** Log position, 1-based and dense. */
  readonly op: number;
  readonly view: number;
  /** Time that the primary stamped, strictly increasing. The only time the state machine knows. */
  readonly timestampMicros: number;
  /** Identity checksum of the prepare. */
  readonly checksum: bigint;
  readonly operation: number;
  /** Client and epoch of the acting session; `serverClient` or `commitOnReadClient` and 0 for the server's own. */
  readonly client: bigint;
  readonly session: number;
  readonly request: number;
  readonly requestChecksum: bigint;
  /** A send: the stamped batch, of which only the 256-byte header is read. Else the body of the operation. */
  readonly body: Uint8Array;
  /** Writer capacity that the prepare nominates. The first one fixes it. */
  readonly retryCapacity?: number;
}

/** Acts when metadata decided something about a partition. */
export const serverClient = 0n;
/** Acts when a read commits the offset it returned; nobody waits for the result. */
export const commitOnReadClient = (1n << 128n) - 1n;

/** Whether a client session wrote it, so that its result must be kept for a retry. */
export const isClientPrepare = ({ client }: Pick<PartitionPrepare, "client">): boolean =>
  client !== serverClient && client !== commitOnReadClient;

/** A log that contradicts itself or the state: the partition must not be served from it. */
export class CorruptHistoryError extends Error {
  override readonly name = "CorruptHistoryError";
}
