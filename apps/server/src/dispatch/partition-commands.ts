import {
  type Consumer,
  decodeRequest,
  deleteConsumerOffset,
  encodeResponse,
  encodeUtf8,
  ErrorCode,
  fetchMessages,
  getConsumerOffset,
  getPartitionRoute,
  type Identifier,
  pollMessages,
  pollMessagesDeferred,
  type PollMessagesRequest,
  sendMessages,
  storeConsumerOffset,
  xxh32,
} from "@iggy/protocol";
import { Refusal, type Topic } from "@iggy/engine";
import type { OffsetKey, PartitionAddress, PartitionRequests, ReadWait } from "../partitions/index.js";
import type { ClientRequest } from "../request.js";
import type { Directory } from "./directory.js";
import { PartitionChoice } from "./partition-choice.js";

/**
 * Commands that a partition serves: decodes them, resolves names, checks the right, waits for the metadata that the
 * client has seen, then hands over to the partition plane. The order of the checks decides which error a request with
 * several faults gets.
 */
export class PartitionCommands {
  private readonly directory: Directory;
  private readonly plane: PartitionRequests;
  /** Shared with whoever has to know the partition before the command is made. */
  readonly choice = new PartitionChoice();

  constructor(directory: Directory, plane: PartitionRequests) {
    this.directory = directory;
    this.plane = plane;
  }

  send(request: ClientRequest): void {
    const command = decodeRequest(sendMessages, request.body);
    const topic = this.topic(request, command);
    if (topic === undefined) return;
    const partitionId = this.choice.choose(topic, command.partitioning);
    if (partitionId instanceof Refusal) {
      request.deny(partitionId.code);
      return;
    }
    if (!this.directory.maySend(request.userId, topic)) {
      request.deny(ErrorCode.Unauthorized);
      return;
    }
    this.afterFrontier(request, () => {
      this.plane.send(request, {
        address: addressIn(topic, partitionId),
        partitionNamed: command.partitioning.kind === "partition_id",
        messagesCount: command.messagesCount,
        batch: command.batch,
      });
    });
  }

  poll(request: ClientRequest): void {
    this.pollWith(request, decodeRequest(pollMessages, request.body), undefined);
  }

  pollDeferred(request: ClientRequest): void {
    const command = decodeRequest(pollMessagesDeferred, request.body);
    this.pollWith(request, command.poll, readWait(command));
  }

  fetch(request: ClientRequest): void {
    const command = decodeRequest(fetchMessages, request.body);
    if (command.consumer.kind === "external_group") {
      request.deny(ErrorCode.FeatureUnavailable);
      return;
    }
    const topic = this.topic(request, command);
    const consumer = topic && this.offsetKey(request, topic, command.consumer);
    if (topic === undefined || consumer === undefined) return;
    if (!this.directory.mayPoll(request.userId, topic)) {
      request.deny(ErrorCode.Unauthorized);
      return;
    }
    this.afterFrontier(request, () => {
      this.plane.fetch(request, {
        streamId: topic.stream.id,
        topicId: topic.id,
        consumer,
        count: command.count,
        autoCommit: command.autoCommit,
        wait: readWait(command),
        targets: command.targets.map((target) => ({
          ...target,
          incarnation: Number(target.incarnation),
          ownerGeneration: Number(target.ownerGeneration),
        })),
      });
    });
  }

  getOffset(request: ClientRequest): void {
    const command = decodeRequest(getConsumerOffset, request.body);
    this.withOffset(request, command, command.partitionId ?? 0, (address, consumer) => {
      this.plane.getOffset(request, { address, consumer });
    });
  }

  storeOffset(request: ClientRequest): void {
    const command = decodeRequest(storeConsumerOffset, request.body);
    this.withOffset(request, command, command.partitionId, (address, consumer) => {
      this.plane.storeOffset(request, { address, consumer, offset: command.offset, ack: command.ack });
    });
  }

  deleteOffset(request: ClientRequest): void {
    const command = decodeRequest(deleteConsumerOffset, request.body);
    this.withOffset(request, command, command.partitionId, (address, consumer) => {
      this.plane.deleteOffset(request, { address, consumer, ack: command.ack });
    });
  }

  route(request: ClientRequest): void {
    const command = decodeRequest(getPartitionRoute, request.body);
    const topic = this.topic(request, command);
    if (topic === undefined || !this.partitionExists(request, topic, command.partitionId)) return;
    if (!this.directory.maySend(request.userId, topic) && !this.directory.mayPoll(request.userId, topic)) {
      request.deny(ErrorCode.Unauthorized);
      return;
    }
    this.afterFrontier(request, () => {
      const fact = this.plane.route(addressIn(topic, command.partitionId));
      if (fact === undefined) {
        request.deny(ErrorCode.TransientNotAccepted);
        return;
      }
      const reply = {
        incarnation: BigInt(fact.incarnation),
        metadataOp: BigInt(this.directory.appliedOp),
        view: fact.view,
        partitionsCount: topic.partitions.length,
        primaryReplica: fact.primaryReplica,
      };
      request.ok([encodeResponse(getPartitionRoute, reply)]);
    });
  }

  private pollWith(request: ClientRequest, command: PollMessagesRequest, wait: ReadWait | undefined): void {
    if (command.consumer.kind === "external_group") {
      request.deny(ErrorCode.FeatureUnavailable);
      return;
    }
    // A group member names the partition that it owns; a single consumer may leave out partition 0.
    const partitionId = command.partitionId ?? (command.consumer.kind === "consumer" ? 0 : undefined);
    if (partitionId === undefined) {
      request.deny(ErrorCode.InvalidIdentifier);
      return;
    }
    this.withOffset(request, command, partitionId, (address, consumer) => {
      this.plane.poll(request, {
        address,
        consumer,
        strategy: command.strategy,
        count: command.count,
        autoCommit: command.autoCommit,
        wait,
      });
    });
  }

  /** The checks that polls and offset commands share. */
  private withOffset(
    request: ClientRequest,
    target: TopicTarget & { readonly consumer: Consumer },
    partitionId: number | null,
    serve: (address: PartitionAddress, consumer: OffsetKey) => void,
  ): void {
    if (partitionId === null) {
      request.deny(ErrorCode.InvalidIdentifier);
      return;
    }
    const topic = this.topic(request, target);
    if (topic === undefined || !this.partitionExists(request, topic, partitionId)) return;
    const consumer = this.offsetKey(request, topic, target.consumer);
    if (consumer === undefined) return;
    if (!this.directory.mayPoll(request.userId, topic)) {
      request.deny(ErrorCode.Unauthorized);
      return;
    }
    this.afterFrontier(request, () => serve(addressIn(topic, partitionId), consumer));
  }

  private topic(request: ClientRequest, target: TopicTarget): Topic | undefined {
    const found = this.directory.resolveTopic(target.streamId, target.topicId);
    if (!(found instanceof Refusal)) return found;
    request.deny(found.code);
    return undefined;
  }

  private partitionExists(request: ClientRequest, topic: Topic, partitionId: number): boolean {
    const exists = topic.partitions[partitionId] !== undefined;
    if (!exists) request.deny(ErrorCode.PartitionNotFound);
    return exists;
  }

  private offsetKey(request: ClientRequest, topic: Topic, consumer: Consumer): OffsetKey | undefined {
    const { kind, id } = consumer;
    if (kind === "consumer") {
      return { kind, id: id.kind === "numeric" ? id.value : xxh32(encodeUtf8(id.value)) };
    }
    const group = this.directory.resolveGroup(topic, id);
    if (!(group instanceof Refusal)) return { kind, id: group.id };
    request.deny(group.code);
    return undefined;
  }

  /** Serves once this node applied what the client has seen of metadata, or refuses when that takes too long. */
  private afterFrontier(request: ClientRequest, serve: () => void): void {
    const ready = this.directory.whenApplied(request.minimumMetadataOp);
    if (ready === true) {
      serve();
      return;
    }
    void ready.then((applied) => {
      if (!applied) request.deny(ErrorCode.TransientNotAccepted);
      // Partitions may have been told already that nothing comes of it any more.
      else if (!this.directory.isSessionLive(request.client, request.session)) request.deny(ErrorCode.StaleClient);
      else serve();
    });
  }
}

interface TopicTarget {
  readonly streamId: Identifier;
  readonly topicId: Identifier;
}

/** Spelled out: a spread with another field behind it takes microseconds. */
const addressIn = (topic: Topic, partitionId: number): PartitionAddress => ({
  streamId: topic.stream.id,
  topicId: topic.id,
  partitionId,
});

function readWait(command: {
  readonly waitUs: bigint;
  readonly minCount: number;
  readonly maxBytes: number;
  readonly requestTimeoutUs: bigint;
}): ReadWait {
  return {
    waitMicros: Number(command.waitUs),
    minCount: command.minCount,
    maxBytes: command.maxBytes,
    requestTimeoutMicros: Number(command.requestTimeoutUs),
  };
}
