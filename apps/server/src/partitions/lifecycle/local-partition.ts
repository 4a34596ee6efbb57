import { ErrorCode } from "@iggy/protocol";
import type { PartitionAddress } from "../address.js";
import { type EarlyBytes, EarlyRequests } from "./early-requests.js";
import type { PartitionGroup } from "../group.js";
import type { PartitionShard } from "../shard.js";

export type LocalState =
  | { readonly kind: "opening" }
  | { readonly kind: "open"; readonly group: PartitionGroup }
  /** Its files must not be served; everything of it is refused until the next start. */
  | { readonly kind: "fenced" }
  | { readonly kind: "removed" };

const notOpen: LocalState = { kind: "opening" };
const fenced: LocalState = { kind: "fenced" };
const removed: LocalState = { kind: "removed" };

/** One incarnation of a partition on this node, from the moment that metadata names it until it is gone. */
export class LocalPartition {
  readonly address: PartitionAddress;
  readonly incarnation: number;
  readonly early: EarlyRequests;
  /** Its files may exist: it was opened, or opening it was tried. */
  hasBegun = false;
  /** The work of opening it; it ends soon after the partition is removed. */
  opening: Promise<void> = Promise.resolve();
  /** Generation of the owner whose installation is under way, by group. */
  readonly installing = new Map<number, number>();
  isRetiringGroups = false;
  isEnding = false;
  isTruncating = false;
  /** Something of this could not be ordered, and a look at it all is due. */
  isRetrying = false;
  private current: LocalState = notOpen;

  constructor(address: PartitionAddress, incarnation: number, shard: PartitionShard, earlyBytes: EarlyBytes) {
    this.address = address;
    this.incarnation = incarnation;
    this.early = new EarlyRequests(shard, earlyBytes);
  }

  get state(): LocalState {
    return this.current;
  }

  /** The group while it is open. */
  get group(): PartitionGroup | undefined {
    return this.current.kind === "open" ? this.current.group : undefined;
  }

  opened(group: PartitionGroup): void {
    this.current = { kind: "open", group };
    this.early.serveAll();
  }

  fence(): void {
    this.current = fenced;
    this.early.refuseAll(ErrorCode.HistoryUnavailable);
  }

  remove(): void {
    this.current = removed;
    this.early.refuseAll(ErrorCode.HistoryUnavailable);
  }
}
