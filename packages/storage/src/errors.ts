import { IggyError } from "@iggy/protocol";
import { asError, isOutOfSpace } from "./io/os-error.js";

/** Numbers of the protocol's error table that fit what a disk does. */
const CODES = {
  cannotOpenDatabase: 19,
  historyUnavailable: 87,
  cannotSaveMessages: 4006,
  cannotReadMessage: 4011,
  invalidMessageChecksum: 4027,
  invalidBatchChecksum: 4039,
  cannotReadFile: 10002,
  cannotAppendToFile: 10005,
} as const;

/** The server must not start on this data directory. The message names it and says what to do; nothing was changed. */
export class StorageRefused extends IggyError {
  readonly directory: string;

  constructor(directory: string, reason: string, remedy: string, options?: ErrorOptions) {
    super(CODES.cannotOpenDatabase, `${directory}: ${reason}; ${remedy}`, options);
    this.directory = directory;
  }
}

export type FenceReason =
  /** A retirement fence names this incarnation. */
  | "retired"
  /** The directory was made by a later incarnation than the one that metadata knows. */
  | "metadata-older-than-partition"
  /** It was in service before, and its log is gone. */
  | "missing-history"
  /** Its last settled view is older than the partition itself. */
  | "below-creation-view"
  /** A superblock slot, checkpoint or creation record does not verify. */
  | "unreadable-record"
  /** It belongs to another cluster, replica or incarnation. */
  | "foreign"
  /** Stored operations are damaged where no crash can have damaged them. */
  | "damaged-log"
  /** The disk refuses to give the bytes. */
  | "disk-fault";

/** One partition does not serve; everything else of the server does. Its files were left as they are. */
export class PartitionFenced extends IggyError {
  readonly reason: FenceReason;
  readonly directory: string;

  constructor(reason: FenceReason, directory: string, detail: string, options?: ErrorOptions) {
    super(CODES.historyUnavailable, `partition fenced (${reason}): ${directory}: ${detail}`, options);
    this.reason = reason;
    this.directory = directory;
  }
}

/** Bytes of a stored record that do not verify. */
export class DamagedFile extends IggyError {
  readonly path: string;

  constructor(path: string, fault: string) {
    super(CODES.cannotReadFile, `${path}: ${fault}`);
    this.path = path;
  }
}

/** The disk would not take a write. `outOfSpace`: nothing is lost, and later writes may succeed. */
export class WriteFailed extends IggyError {
  readonly path: string;
  readonly outOfSpace: boolean;

  constructor(path: string, outOfSpace: boolean, cause: Error) {
    super(CODES.cannotSaveMessages, `${path}: ${cause.message}`, { cause });
    this.path = path;
    this.outOfSpace = outOfSpace;
  }

  /** An operating system's error under its typed name; an error that has one keeps it. */
  static of(path: string, error: unknown): IggyError {
    return error instanceof IggyError ? error : new WriteFailed(path, isOutOfSpace(error), asError(error));
  }
}

/** The store was closed, or failed before, and takes nothing more. */
export class StoreUnavailable extends IggyError {
  constructor(path: string, state: "closed" | "failed", cause?: Error) {
    super(CODES.cannotAppendToFile, `${path}: the store is ${state}`, cause === undefined ? {} : { cause });
  }
}

/** A stored message that the disk does not give. */
export class ReadFailed extends IggyError {
  constructor(path: string, cause: Error) {
    super(CODES.cannotReadMessage, `${path}: ${cause.message}`, { cause });
  }
}

/** A stored batch that does not verify. `kind` says which checksum, or the shape, is wrong. */
export class DamagedBatch extends IggyError {
  readonly path: string;
  readonly position: number;

  constructor(path: string, position: number, kind: "batch" | "message", fault: string) {
    super(
      kind === "message" ? CODES.invalidMessageChecksum : CODES.invalidBatchChecksum,
      `${path}: damaged record at byte ${position}: ${fault}`,
    );
    this.path = path;
    this.position = position;
  }
}
