import type { Scope } from "../calls/scope.js";
import type { IggyError } from "../errors/index.js";
import type { Link } from "../link/index.js";

/** A ready link and the replica behind it; the id is unknown when the roster does not name the endpoint. */
export interface Slot {
  readonly link: Link;
  readonly replicaId: number | undefined;
}

/**
 * Which link a request takes. The engine asks here and nowhere else, so that one link or one per replica makes no
 * difference to it.
 */
export interface Router {
  /** The sign-in that a call belongs to for its whole life. Waits while the caller signs in or out. */
  beginCall(scope: Scope): Promise<number>;
  /**
   * Waits until there is a link with a session. Rejects when there can be none: closed, disconnected, not signed in.
   */
  whenReady(scope: Scope): Promise<void>;
  /** Link for metadata commands and for reads without a partition; none while the one of the primary is being opened. */
  metadataSlot(): Slot | undefined;
  replicaSlot(replicaId: number): Slot | undefined;
  /** Every ready link, in the order of replica ids. */
  readySlots(): readonly Slot[];
  /** Waits while the link of a replica is dialed for the first time. A replica that the roster lacks is looked for once. */
  whenOpened(replica: number | "metadata", scope: Scope): Promise<void>;
  /** Why a replica of the roster has no link. */
  faultOf(replicaId: number): IggyError | undefined;
  /** Reads the roster on that link, for a request that its node did not take. */
  refreshRoster(slot: Slot, scope: Scope): Promise<void>;
  /** Whether the node itself says that it leads the metadata, so that "not found" from it is final. */
  isMetadataPrimary(slot: Slot, scope: Scope): Promise<boolean>;
  /** Whether the replica is in the roster and serves this transport, after one fresh read when it is not. */
  knowsReplica(replicaId: number, scope: Scope): Promise<boolean>;
}
