import { idLimits } from "@iggy/protocol";
import type { Assignment, PendingRevocation, Share } from "./assignment.js";
import { type GroupOwner, noOwner } from "./owner.js";
import type { Topic } from "./resources.js";
import { Slab } from "./slab.js";

export interface Member {
  readonly slot: number;
  readonly clientId: bigint;
  /** Epoch of the member's session. */
  readonly session: number;
  /** Held partitions in order of receipt; those being revoked are among them. */
  partitions: readonly number[];
}

export interface ConsumerGroupFields {
  readonly topic: Topic;
  readonly id: number;
  readonly name: string;
  readonly generation: number;
}

export class ConsumerGroup {
  readonly topic: Topic;
  readonly id: number;
  readonly name: string;
  /** Grows with every change of members or assignment. */
  generation: number;
  /** By slot; a new member takes the lowest free one. */
  readonly members = new Slab<Member>(idLimits.consumerGroupsPerTopic);
  readonly membersByClient = new Map<bigint, Member>();
  private moves: readonly PendingRevocation[] = [];
  private leaving: ReadonlySet<number> = new Set();
  /** Last decided owner per partition id; a partition that never had one is absent. */
  readonly owners = new Map<number, GroupOwner>();

  constructor(fields: ConsumerGroupFields) {
    this.topic = fields.topic;
    this.id = fields.id;
    this.name = fields.name;
    this.generation = fields.generation;
  }

  addMember(member: Member): void {
    this.members.insert(member.slot, member);
    this.membersByClient.set(member.clientId, member);
  }

  removeMember(member: Member): void {
    this.members.remove(member.slot);
    this.membersByClient.delete(member.clientId);
  }

  get pending(): readonly PendingRevocation[] {
    return this.moves;
  }

  set pending(moves: readonly PendingRevocation[]) {
    this.moves = moves;
    this.leaving = new Set(moves.map((move) => move.partitionId));
  }

  get assignment(): Assignment {
    return { shares: [...this.members.values()], pending: this.pending };
  }

  assign({ shares, pending }: Assignment): void {
    for (const share of shares) this.setShare(share);
    this.pending = pending;
  }

  private setShare({ slot, partitions }: Share): void {
    const member = this.members.get(slot);
    if (member !== undefined) member.partitions = partitions;
  }

  ownerOf(partitionId: number): GroupOwner {
    return this.owners.get(partitionId) ?? noOwner;
  }

  /** Whether a member holds a partition that is not being revoked from it. */
  isPollable(member: Member, partitionId: number): boolean {
    return this.ownerOf(partitionId).client === member.clientId && !this.leaving.has(partitionId);
  }

  /** Partitions that a member may poll now, ascending: those being revoked are left out. */
  pollable(member: Member): number[] {
    return member.partitions.filter((id) => !this.leaving.has(id)).sort((left, right) => left - right);
  }
}
