import { quorumsOf, type Quorums } from "./quorums.js";

/** Fixed facts of one replicated group on one node. */
export interface GroupIdentity {
  /** Packed partition, or the metadata group. */
  readonly group: bigint;
  readonly cluster: bigint;
  /** Configured id of this node. */
  readonly replica: number;
  /** Node ids that store the group, in member order. */
  readonly members: readonly number[];
  /** Most uncommitted operations at a time. */
  readonly pipelineDepth: number;
  /** Session or writer capacity that this primary nominates; the first committed prepare fixes it. */
  readonly retryCapacity: number;
}

/** What recovery found of the group's log. */
export interface RecoveredGroup {
  readonly view: number;
  readonly logView: number;
  /** Head of the log. */
  readonly op: number;
  /** Identity checksum of the head, 0 for an empty log. */
  readonly headChecksum: bigint;
  /** Highest operation known to be committed. */
  readonly commit: number;
  /** Largest timestamp ever stamped, microseconds. */
  readonly timestampMicros: number;
}

/** A request with everything undetermined already resolved, ready to be ordered. */
export interface Proposal {
  readonly operation: number;
  readonly client: bigint;
  readonly session: number;
  readonly request: number;
  readonly requestChecksum: bigint;
  readonly userId: number;
  readonly partitionIncarnation: number;
  readonly body: Uint8Array;
}

/** One ordered operation: the header fields that the primary decided, and the proposal. */
export interface Prepare extends Proposal {
  readonly op: number;
  readonly view: number;
  readonly commit: number;
  readonly timestampMicros: number;
  /** The 256-byte header as journaled and replicated. */
  readonly header: Uint8Array;
  /** Identity checksum of the header. */
  readonly checksum: bigint;
}

/** Writes the 256-byte header of a prepare and gives its identity; the layout belongs to the protocol package. */
export interface PrepareSealer {
  seal(proposal: Proposal, place: PreparePlace): { readonly header: Uint8Array; readonly checksum: bigint };
}

/** Where an operation stands in the log. */
export interface PreparePlace {
  readonly identity: GroupIdentity;
  readonly view: number;
  readonly op: number;
  readonly commit: number;
  readonly timestampMicros: number;
  readonly parent: bigint;
}

export type Admission = "admit" | "not-primary" | "busy";

interface Slot {
  readonly prepare: Prepare;
  /** Identity of the operation before it. */
  readonly parent: bigint;
  /** Distinct members that hold the prepare under its durability rule. */
  holders: number;
}

/**
 * The ordering core of a group. It owns no clock, socket or file: time comes in with each call, journaling is reported
 * by `journaled`, and committed operations are taken out with `nextCommitted`. A single node is a group of one member,
 * whose own journal is the whole quorum.
 */
export class Replica {
  readonly identity: GroupIdentity;
  readonly quorums: Quorums;
  private readonly sealer: PrepareSealer;
  private readonly pipeline: Slot[] = [];
  private viewNumber: number;
  private head: number;
  private headChecksum: bigint;
  private committed: number;
  private applied: number;
  private lastTimestampMicros: number;

  constructor(identity: GroupIdentity, recovered: RecoveredGroup, sealer: PrepareSealer) {
    if (!identity.members.includes(identity.replica)) {
      throw new RangeError(`node ${identity.replica} is no member of the group`);
    }
    if (recovered.commit > recovered.op) throw new RangeError("the commit point lies beyond the log");
    this.identity = identity;
    this.quorums = quorumsOf(identity.members.length);
    this.sealer = sealer;
    this.viewNumber = recovered.view;
    this.head = recovered.op;
    this.headChecksum = recovered.headChecksum;
    this.committed = recovered.commit;
    this.applied = recovered.commit;
    this.lastTimestampMicros = recovered.timestampMicros;
  }

  get view(): number {
    return this.viewNumber;
  }

  /** Node id of the member that orders this view. */
  get primary(): number {
    const { members } = this.identity;
    return members[this.viewNumber % members.length] ?? this.identity.replica;
  }

  get isPrimary(): boolean {
    return this.primary === this.identity.replica;
  }

  /** Head of the log. */
  get op(): number {
    return this.head;
  }

  /** Highest operation that is committed. */
  get commit(): number {
    return this.committed;
  }

  /** Operations ordered but not yet committed. */
  get uncommitted(): number {
    return this.head - this.committed;
  }

  admission(): Admission {
    if (!this.isPrimary) return "not-primary";
    return this.pipeline.length < this.identity.pipelineDepth ? "admit" : "busy";
  }

  /** The timestamp that the next prepare will carry: strictly increasing within the group. */
  nextTimestamp(nowMicros: number): number {
    return Math.max(nowMicros, this.lastTimestampMicros + 1);
  }

  /**
   * Orders a proposal. The caller asked `admission` first and journals the result; nothing else may be proposed between
   * `nextTimestamp` and this call when the body carries that timestamp.
   */
  propose(proposal: Proposal, timestampMicros: number): Prepare {
    if (this.admission() !== "admit") throw new RangeError("the group takes no operation now");
    if (timestampMicros <= this.lastTimestampMicros) throw new RangeError("timestamps must grow within a group");
    const op = this.head + 1;
    const view = this.viewNumber;
    const commit = this.committed;
    const parent = this.headChecksum;
    const place = { identity: this.identity, view, op, commit, timestampMicros, parent };
    const { header, checksum } = this.sealer.seal(proposal, place);
    // Field by field: a literal that spreads an object and goes on behind it takes tens of microseconds.
    const prepare: Prepare = {
      operation: proposal.operation,
      client: proposal.client,
      session: proposal.session,
      request: proposal.request,
      requestChecksum: proposal.requestChecksum,
      userId: proposal.userId,
      partitionIncarnation: proposal.partitionIncarnation,
      body: proposal.body,
      op,
      view,
      commit,
      timestampMicros,
      header,
      checksum,
    };
    this.pipeline.push({ prepare, parent, holders: 0 });
    this.head = op;
    this.headChecksum = checksum;
    this.lastTimestampMicros = timestampMicros;
    return prepare;
  }

  /**
   * Takes back the newest operations, from `fromOp` on: the journal refused them and nobody else has seen them. Their
   * numbers are given out again; their timestamps are not.
   */
  handBack(fromOp: number): void {
    if (this.identity.members.length > 1) throw new RangeError("another member may hold the operation");
    const index = this.pipeline.findIndex((slot) => slot.prepare.op === fromOp);
    const first = this.pipeline[index];
    if (first === undefined || fromOp <= this.committed) throw new RangeError("only uncommitted operations come back");
    this.pipeline.length = index;
    this.head = fromOp - 1;
    this.headChecksum = first.parent;
  }

  /** This node holds every operation up to `op` under the durability rule of the group. */
  journaled(op: number): void {
    this.held(this.identity.replica, op);
  }

  /** Operations to apply now, one at a time, in order. */
  nextCommitted(): Prepare | undefined {
    const first = this.pipeline[0];
    if (first === undefined || first.prepare.op > this.committed) return undefined;
    this.pipeline.shift();
    this.applied = first.prepare.op;
    return first.prepare;
  }

  /** Highest operation taken out by `nextCommitted`. */
  get appliedOp(): number {
    return this.applied;
  }

  private held(member: number, op: number): void {
    const bit = 1 << this.identity.members.indexOf(member);
    for (const slot of this.pipeline) {
      if (slot.prepare.op > op) break;
      slot.holders |= bit;
      if (slot.prepare.op === this.committed + 1 && countBits(slot.holders) >= this.quorums.replication) {
        this.committed = slot.prepare.op;
      }
    }
  }
}

function countBits(bits: number): number {
  let count = 0;
  for (let rest = bits >>> 0; rest !== 0; rest &= rest - 1) count++;
  return count;
}
