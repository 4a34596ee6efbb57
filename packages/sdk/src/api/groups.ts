import {
  type ConsumerGroup as WireGroup,
  type ConsumerGroupDetails as WireGroupDetails,
  createConsumerGroup,
  deleteConsumerGroup,
  ErrorCode,
  getConsumerGroup,
  getConsumerGroups,
  joinConsumerGroup,
  leaveConsumerGroup,
  syncConsumerGroup,
} from "@iggy/protocol";
import { type Id, toIdentifier, toName } from "../values/id.js";
import type { CallOptions, Calls } from "./caller.js";
import { getOrCreate } from "./get-or-create.js";
import { topicTarget, type TopicTarget } from "./topics.js";

export interface ConsumerGroup {
  readonly id: number;
  readonly name: string;
  /** Partitions of the topic. */
  readonly partitionsCount: number;
  readonly membersCount: number;
}

export interface ConsumerGroupMember {
  readonly id: number;
  readonly partitionsCount: number;
  readonly partitions: readonly number[];
}

export interface ConsumerGroupDetails extends ConsumerGroup {
  readonly members: readonly ConsumerGroupMember[];
}

/** What a member may poll now. `generation` changes with every change of the assignment. */
export interface Assignment {
  readonly generation: bigint;
  readonly partitions: readonly number[];
}

export interface GroupTarget extends TopicTarget {
  readonly groupId: Id;
}

export interface CreateGroup extends TopicTarget {
  /** 1 to 255 bytes. */
  readonly name: string;
}

export class GroupApi {
  readonly #caller: Calls;

  constructor(caller: Calls) {
    this.#caller = caller;
  }

  /** One group with its members; null when it does not exist. */
  async get(group: GroupTarget, options?: CallOptions): Promise<ConsumerGroupDetails | null> {
    const found = await this.#caller.read(getConsumerGroup, groupTarget(group), about(group), options);
    return found === null ? null : detailsOf(found);
  }

  async list({ streamId, topicId }: TopicTarget, options?: CallOptions): Promise<ConsumerGroup[]> {
    const request = topicTarget(streamId, topicId);
    const { groups } = await this.#caller.read(getConsumerGroups, request, { streamId, topicId }, options);
    return groups.map(groupOf);
  }

  async create({ streamId, topicId, name }: CreateGroup, options?: CallOptions): Promise<ConsumerGroupDetails> {
    const request = {
      ...topicTarget(streamId, topicId),
      name: toName("name", name, ErrorCode.InvalidConsumerGroupName),
    };
    return detailsOf(await this.#caller.write(createConsumerGroup, request, { streamId, topicId, name }, options));
  }

  /** Deletes a group with its offsets. */
  async delete(group: GroupTarget, options?: CallOptions): Promise<true> {
    await this.#caller.write(deleteConsumerGroup, groupTarget(group), about(group), options);
    return true;
  }

  /** Makes the session of this client a member. A member that joins again stays one. */
  async join(group: GroupTarget, options?: CallOptions): Promise<true> {
    await this.#caller.write(joinConsumerGroup, groupTarget(group), about(group), options);
    return true;
  }

  async leave(group: GroupTarget, options?: CallOptions): Promise<true> {
    await this.#caller.write(leaveConsumerGroup, groupTarget(group), about(group), options);
    return true;
  }

  /** The partitions that this session may poll now; null when it is no member. */
  async sync(group: GroupTarget, options?: CallOptions): Promise<Assignment | null> {
    return this.#caller.read(syncConsumerGroup, groupTarget(group), about(group), options);
  }

  /** The group, created when it is missing. */
  ensure(group: CreateGroup, options?: CallOptions): Promise<ConsumerGroupDetails>;
  ensure(streamId: Id, topicId: Id, name: string): Promise<ConsumerGroupDetails>;
  ensure(first: CreateGroup | Id, second?: CallOptions | Id, name?: string): Promise<ConsumerGroupDetails> {
    const { group, options } = ensureArguments(first, second, name);
    const target = { ...group, groupId: group.name };
    return getOrCreate(
      () => this.get(target, options),
      () => this.create(group, options),
    );
  }

  /** The same, and the session becomes a member. */
  ensureAndJoin(group: CreateGroup, options?: CallOptions): Promise<ConsumerGroupDetails>;
  ensureAndJoin(streamId: Id, topicId: Id, name: string): Promise<ConsumerGroupDetails>;
  async ensureAndJoin(
    first: CreateGroup | Id,
    second?: CallOptions | Id,
    name?: string,
  ): Promise<ConsumerGroupDetails> {
    const { group, options } = ensureArguments(first, second, name);
    const found = await this.ensure(group, options);
    await this.join({ streamId: group.streamId, topicId: group.topicId, groupId: found.id }, options);
    return found;
  }
}

function ensureArguments(
  first: CreateGroup | Id,
  second: CallOptions | Id | undefined,
  name: string | undefined,
): { readonly group: CreateGroup; readonly options: CallOptions | undefined } {
  if (typeof first === "object") return { group: first, options: typeof second === "object" ? second : undefined };
  const topicId = typeof second === "object" || second === undefined ? "" : second;
  return { group: { streamId: first, topicId, name: name ?? "" }, options: undefined };
}

const groupTarget = ({ streamId, topicId, groupId }: GroupTarget) => ({
  ...topicTarget(streamId, topicId),
  groupId: toIdentifier("groupId", groupId),
});

const about = ({ streamId, topicId, groupId }: GroupTarget) => ({ streamId, topicId, groupId });

const groupOf = ({ id, name, partitionsCount, membersCount }: WireGroup): ConsumerGroup => ({
  id,
  name,
  partitionsCount,
  membersCount,
});

const detailsOf = ({ group, members }: WireGroupDetails): ConsumerGroupDetails => ({ ...groupOf(group), members });
