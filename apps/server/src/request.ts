import type { Memory } from "@iggy/storage";

/** Session of a request whose caller has none: it may read, and there is nothing that could end meanwhile. */
export const NO_SESSION = 0;

/**
 * One admitted client request, as the planes see it: who asks, with which fences, and how to answer. A request is
 * answered exactly once; the connection that carries it may be gone by then, which makes the answer a no-op.
 */
export interface ClientRequest {
  /** Logical session of the connection that carries the request. */
  readonly client: bigint;
  /** `NO_SESSION` in a read of a caller that has none. */
  readonly session: number;
  readonly userId: number;
  /** Request number, unique within the client process. */
  readonly request: number;
  readonly requestChecksum: bigint;
  readonly operation: number;
  /** Fences of a partition request; zero where the client named none. */
  readonly partitionIncarnation: number;
  readonly ownerGeneration: number;
  readonly minimumMetadataOp: number;
  /** Bytes after the header. */
  readonly body: Uint8Array;
  /**
   * What holds header and body, when that is pooled: retained until the request is answered. Whoever needs the body
   * longer retains it too.
   */
  readonly memory: Memory | undefined;

  /** Answers a read, or anything else that was not committed. */
  ok(body: readonly Uint8Array[], options?: ReadReplyOptions): void;
  /** Refuses before commit: status in the header, empty body. */
  deny(code: number): void;
  /** Answers with the result of a committed operation. */
  committed(reply: CommittedReply): void;
  /**
   * Called when the client cancels, or the connection or its session ends, while a read waits: with the code that answers
   * it. At most one handler.
   */
  onCancel(handler: (code: number) => void): void;
}

export interface ReadReplyOptions {
  /** Overwrites the echoed incarnation with the one that was served. */
  readonly partitionIncarnation?: number;
  /** What the body lies in, retained by the caller; released once the reply is sent or dropped. */
  readonly memory?: readonly Memory[];
}

/** Facts of a committed log entry, from which every node can build the same reply. */
export interface CommittedReply {
  readonly op: number;
  readonly view: number;
  readonly timestampMicros: number;
  /** Operation of the log entry, which decides how the client reads the body. */
  readonly operation: number;
  readonly request: number;
  readonly requestChecksum: bigint;
  readonly partitionIncarnation: number;
  /** Body with its result section where the operation has one. */
  readonly body: readonly Uint8Array[];
}

/** Where time comes from; the simulator and tests bring their own. */
export interface Clock {
  /** Microseconds since the Unix epoch. */
  nowMicros(): number;
  /** Milliseconds that only grow, for waits and deadlines. */
  monotonicMillis(): number;
}
