import {
  type Command,
  encodeRequest,
  ErrorCode,
  type Identifier,
  joinConsumerGroup,
  type JoinConsumerGroupRequest,
  leaveConsumerGroup,
  numericId,
  pollMessagesDeferred,
  storeConsumerOffset,
  syncConsumerGroup,
} from "@iggy/protocol";
import { type Answer, group, next, outcome, polledOf, type RawPartition, type Seeded } from "../raw-client/index.js";
import type { Client } from "./client.js";
import { Lane, type Pending } from "./lane.js";

const COUNT = 40;
/** One request in this many leaves the group, to join it again. */
const LEAVE_ONE_IN = 40;

/** How far a group has come in one partition: it only goes forward. */
export class GroupProgress {
  readonly place: RawPartition;
  acknowledged = -1;
  /** Highest offset that any member asked to store. */
  asked = -1;

  constructor(place: RawPartition) {
    this.place = place;
  }
}

interface Work {
  readonly progress: GroupProgress;
  readonly generation: bigint;
  readonly offset: number;
}

/** A member of a consumer group: polls what comes next in its partitions, commits it, and leaves now and then. */
export class MemberLane extends Lane {
  private readonly topic: { readonly streamId: Identifier; readonly topicId: Identifier };
  private readonly groupId: number;
  private readonly partitions: readonly GroupProgress[];
  private readonly random: Seeded;
  private isMember = false;
  private assigned: number[] | undefined;
  private turn = 0;
  private commit: Work | undefined;

  constructor(
    client: Client,
    topic: { readonly streamId: Identifier; readonly topicId: Identifier },
    groupId: number,
    partitions: readonly GroupProgress[],
    random: Seeded,
  ) {
    super(client);
    this.topic = topic;
    this.groupId = groupId;
    this.partitions = partitions;
    this.random = random;
  }

  protected next(): Pending {
    if (!this.isMember) return this.ask(joinConsumerGroup, () => (this.isMember = true));
    if (this.commit !== undefined) return this.committing(this.commit);
    if (this.random.integer(LEAVE_ONE_IN - 1) === 0) {
      return this.ask(leaveConsumerGroup, () => {
        this.isMember = false;
        this.assigned = undefined;
      });
    }
    const mine = this.assigned?.[this.turn++ % this.assigned.length];
    const progress = this.partitions.find(({ place }) => place.partitionId === mine);
    if (progress === undefined) {
      return this.ask(syncConsumerGroup, (answer) => {
        this.assigned = [...(this.client.session.decoded(syncConsumerGroup, answer)?.partitions ?? [])];
      });
    }
    return this.polling(progress);
  }

  protected renewed(): Pending | undefined {
    throw new Error("this lane keeps its session");
  }

  async faults(): Promise<string[]> {
    const faults: string[] = [];
    for (const { place, acknowledged, asked } of this.partitions) {
      const found = await this.client.partition(place).stored(group(this.groupId));
      const stored = found === null ? -1 : Number(found.storedOffset);
      if (stored < acknowledged || stored > asked)
        faults.push(`group ${this.groupId}: ${stored} is stored, acknowledged was ${acknowledged}, asked ${asked}`);
    }
    return faults;
  }

  private polling(progress: GroupProgress): Pending {
    const least = progress.acknowledged;
    const partition = this.client.partition(progress.place);
    return {
      frame: partition.pollFrame(next, { consumer: group(this.groupId), count: COUNT }),
      settle: (answer) => {
        if (this.isOwnershipGone(answer)) return;
        const polled = polledOf(this.client.session.decoded(pollMessagesDeferred, answer));
        const { messages, context } = polled;
        const [first] = messages;
        if (first === undefined) {
          this.assigned = this.random.integer(5) === 0 ? undefined : this.assigned;
          return;
        }
        if (first.offset <= least || first.offset > progress.asked + 1)
          throw new Error(`a group that committed ${least} and asked for ${progress.asked} reads ${first.offset}`);
        const offset = messages.at(-1)?.offset ?? first.offset;
        this.commit = { progress, offset, generation: context.ownerGeneration };
      },
    };
  }

  private committing({ progress, offset, generation }: Work): Pending {
    const { streamId, topicId, partitionId } = progress.place;
    const target = { consumer: group(this.groupId), streamId, topicId, partitionId };
    const body = encodeRequest(storeConsumerOffset, { ...target, offset: BigInt(offset), ack: "quorum" });
    const overrides = { ...progress.place.context, ownerGeneration: generation };
    progress.asked = Math.max(progress.asked, offset);
    return {
      frame: this.client.session.frame(storeConsumerOffset, body, overrides),
      settle: (answer) => {
        this.commit = undefined;
        if (this.isOwnershipGone(answer)) return;
        if (answer.kind !== "ok") throw new Error(`a commit of group ${this.groupId}: ${outcome(answer)}`);
        progress.acknowledged = Math.max(progress.acknowledged, offset);
      },
    };
  }

  /** Another member has the partition now. */
  private isOwnershipGone(answer: Answer): boolean {
    const isGone = answer.kind === "refused" && answer.code === ErrorCode.ConsumerGroupPartitionNotOwned;
    if (isGone) this.assigned = undefined;
    return isGone;
  }

  private ask<Res>(command: Command<JoinConsumerGroupRequest, Res>, done: (answer: Answer) => void): Pending {
    const { streamId, topicId } = this.topic;
    const body = encodeRequest(command, { streamId, topicId, groupId: numericId(this.groupId) });
    return {
      frame: this.client.session.frame(command, body),
      settle: (answer) => {
        if (answer.kind !== "ok") throw new Error(`${command.title} ${this.groupId}: ${outcome(answer)}`);
        done(answer);
      },
    };
  }
}
