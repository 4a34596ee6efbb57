import {
  ErrorCode,
  type MessageInput,
  NO_ASSIGNED_PARTITION,
  type PartitionContext,
  RESYNC_REQUIRED_PARTITION,
} from "@iggy/protocol";
import { FeatureUnavailableError, IggyError, ValidationError } from "../errors/index.js";
import { integer, type U64Like, u32, u64 } from "../values/check.js";
import { toConsumer } from "../values/consumer.js";
import { Partitioning, toPartitioning } from "../values/partitioning.js";
import { CommitPolicy, type PollOptions, readLimitsOf } from "../values/poll-options.js";
import { PolledMessages } from "../values/polled-messages.js";
import { checkStrategy, PollingStrategy } from "../values/polling-strategy.js";
import type { PartitionReader, PartitionReaderOptions } from "../reader/index.js";
import type { Assignments } from "./assignments.js";
import type { CallOptions } from "./caller.js";
import { aboutPartition, type ConsumerTarget, partitionOf } from "./consumer-target.js";
import type { FetchCalls, FetchResult } from "./fetches.js";
import type { GroupTarget } from "./groups.js";
import { type CreateMessage, type MessageDefaults, sealedInputs, toMessageInputs } from "./outgoing-messages.js";
import type { PollCalls } from "./polls.js";
import type { SendCalls, SendResult } from "./sends.js";
import { topicTarget, type TopicTarget } from "./topics.js";

export interface SendMessages extends TopicTarget {
  readonly messages: readonly CreateMessage[];
  /** `Balanced` without it. */
  readonly partition?: Partitioning;
}

export interface SendIdempotent extends TopicTarget {
  readonly partitionId: number;
  /** Who sends, and the number of the first message among those of the producer and partition. */
  readonly producer: { readonly id: U64Like; readonly epoch: number; readonly sequence: number };
  readonly messages: readonly CreateMessage[];
}

export interface PollMessages extends ConsumerTarget {
  readonly partitionId: number;
  /** `Next` without it. */
  readonly pollingStrategy?: PollingStrategy;
  readonly options?: PollOptions;
}

/** A poll in the form of earlier clients: it does not wait. */
export interface PlainPollMessages extends ConsumerTarget {
  /** `null` with a group: the member's partitions in turn. */
  readonly partitionId: number | null;
  readonly pollingStrategy: PollingStrategy;
  readonly count: number;
  readonly autocommit: boolean;
}

export interface FetchTarget {
  readonly partitionId: number;
  /** An offset, `Next`, or a continuation; `Next` without it. */
  readonly pollingStrategy?: PollingStrategy;
  readonly maxBytes?: number;
  readonly context?: PartitionContext;
}

export interface FetchMessages extends ConsumerTarget {
  /** 1 to 1000 partitions, none twice. */
  readonly targets: readonly FetchTarget[];
  readonly options?: PollOptions;
}

export class MessageApi {
  readonly #sends: Pick<SendCalls, "send" | "nextProducerId">;
  readonly #polls: Pick<PollCalls, "poll">;
  readonly #fetches: Pick<FetchCalls, "fetch">;
  readonly #assignments: Assignments;
  readonly #defaults: MessageDefaults;
  /** Opens a reader: `client.reader` under the name that earlier clients gave it. */
  readonly reader: (options: PartitionReaderOptions) => Promise<PartitionReader>;

  constructor(
    sends: Pick<SendCalls, "send" | "nextProducerId">,
    polls: Pick<PollCalls, "poll">,
    fetches: Pick<FetchCalls, "fetch">,
    assignments: Assignments,
    defaults: MessageDefaults,
    reader: (options: PartitionReaderOptions) => Promise<PartitionReader>,
  ) {
    this.#sends = sends;
    this.#polls = polls;
    this.#fetches = fetches;
    this.#assignments = assignments;
    this.#defaults = defaults;
    this.reader = reader;
  }

  /** Sends messages as one batch to one partition. Resolves when it is committed. */
  async send(call: SendMessages, options?: CallOptions): Promise<SendResult> {
    const { streamId, topicId } = call;
    return this.#sends.send(
      {
        topic: topicTarget(streamId, topicId),
        messages: await this.#inputs(call.messages),
        partitioning: toPartitioning(call.partition ?? Partitioning.Balanced),
        about: { streamId, topicId },
      },
      options,
    );
  }

  /** The same with the identity of a producer: a batch that is sent again is stored once. */
  async sendIdempotent(call: SendIdempotent, options?: CallOptions): Promise<SendResult> {
    const { streamId, topicId, producer } = call;
    return this.#sends.send(
      {
        topic: topicTarget(streamId, topicId),
        messages: await this.#inputs(call.messages),
        partitioning: Partitioning.PartitionId(call.partitionId),
        producer: {
          id: u64("producer.id", producer.id),
          epoch: integer("producer.epoch", producer.epoch, 0, 0x7fff),
          baseSequence: integer("producer.sequence", producer.sequence, 0, 0x7fff_ffff),
        },
        about: { streamId, topicId },
      },
      options,
    );
  }

  /** A producer id that no other client of the cluster gets: session number and an index, 2^20 per session. */
  nextProducerId(): Promise<bigint> {
    return Promise.resolve().then(() => this.#sends.nextProducerId());
  }

  /**
   * Reads one partition. An abort ends the wait: a read that stores no offset is forgotten, one with `OnRead` goes on
   * until its outcome is known.
   */
  async poll(call: PollMessages | PlainPollMessages, options?: CallOptions): Promise<PolledMessages> {
    if (!("autocommit" in call)) return this.#poll(call, options);
    const { partitionId, count, autocommit } = call;
    const pollOptions = { count, commit: autocommit ? CommitPolicy.OnRead : CommitPolicy.Manual };
    if (partitionId !== null) return this.#poll({ ...call, partitionId, options: pollOptions }, options);
    return this.#pollAssigned(call, pollOptions, options);
  }

  /** Reads several partitions of a topic in one request to each of their primaries. */
  async fetch(call: FetchMessages, options?: CallOptions): Promise<FetchResult> {
    const { streamId, topicId } = call;
    const limits = readLimitsOf(call.options ?? {}, 0);
    return this.#fetches.fetch(
      {
        topic: topicTarget(streamId, topicId),
        consumer: toConsumer(call.consumer),
        targets: call.targets.map((target) => ({
          partitionId: u32("targets.partitionId", target.partitionId),
          strategy: checkStrategy(target.pollingStrategy ?? PollingStrategy.Next, target.partitionId),
          maxBytes: target.maxBytes ?? limits.maxBytes,
          context: target.context,
        })),
        limits,
        about: { streamId, topicId },
      },
      options,
    );
  }

  /** Gone from the protocol: the durability of a topic says when a send is on stable storage. */
  flushUnsavedBuffers(): Promise<never> {
    return Promise.reject(new FeatureUnavailableError("message.flushUnsavedBuffers is gone from the protocol"));
  }

  /** Messages as they are sent: checked, encoded, encrypted when the client has an encryptor. */
  async #inputs(messages: readonly CreateMessage[]): Promise<readonly MessageInput[]> {
    const inputs = toMessageInputs(messages, this.#defaults);
    const { encryptor } = this.#defaults;
    return encryptor === undefined ? inputs : sealedInputs(inputs, encryptor);
  }

  #poll(call: PollMessages, options: CallOptions | undefined): Promise<PolledMessages> {
    const partition = partitionOf(call);
    return this.#polls.poll(
      {
        consumer: toConsumer(call.consumer),
        partition,
        strategy: checkStrategy(call.pollingStrategy ?? PollingStrategy.Next, partition.partitionId),
        limits: readLimitsOf(call.options ?? {}, 0),
        about: aboutPartition(call),
      },
      options,
    );
  }

  /** Polls the member's partitions in turn, and reads the assignment again when it turns out to be old. */
  async #pollAssigned(
    call: PlainPollMessages,
    pollOptions: PollOptions,
    options: CallOptions | undefined,
  ): Promise<PolledMessages> {
    const { streamId, topicId, consumer } = call;
    if (consumer.kind !== "consumer_group") {
      throw new ValidationError(ErrorCode.InvalidIdentifier, "partitionId is required for a single consumer");
    }
    const group: GroupTarget = { streamId, topicId, groupId: consumer.id };
    for (let attempt = 0; attempt < 2; attempt++) {
      const partitionId = await this.#assignments.nextPartition(group, options);
      if (partitionId === undefined) break;
      try {
        const polled = await this.#poll({ ...call, partitionId, options: pollOptions }, options);
        if (polled.partitionId !== RESYNC_REQUIRED_PARTITION) return polled;
      } catch (error) {
        if (!isOldAssignment(error)) throw error;
        if (attempt > 0) throw error;
      }
      this.#assignments.forget(group);
    }
    return nothingAssigned(call.pollingStrategy);
  }
}

const isOldAssignment = (error: unknown): boolean =>
  IggyError.is(error, ErrorCode.ConsumerGroupMemberNotFound) ||
  IggyError.is(error, ErrorCode.ConsumerGroupPartitionNotOwned);

const nothingAssigned = (strategy: PollingStrategy): PolledMessages =>
  new PolledMessages(
    {
      partitionId: NO_ASSIGNED_PARTITION,
      currentOffset: 0n,
      messagesCount: 0,
      context: { incarnation: 0n, ownerGeneration: 0n, metadataOp: 0n },
      records: new Uint8Array(0),
    },
    strategy,
    { maxCount: 0, verifyChecksums: false },
  );
