import { createPartitions, deletePartitions, deleteSegments, ErrorCode } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { integer, u32 } from "../values/check.js";
import type { CallOptions, Calls } from "./caller.js";
import { topicTarget, type TopicTarget } from "./topics.js";

export interface ChangePartitions extends TopicTarget {
  /** 1 to 1000; 1 without it. */
  readonly partitionCount?: number;
}

export class PartitionApi {
  readonly #caller: Calls;

  constructor(caller: Calls) {
    this.#caller = caller;
  }

  /** Adds partitions behind the highest id. */
  async create(call: ChangePartitions, options?: CallOptions): Promise<true> {
    await this.#caller.write(createPartitions, request(call), about(call), options);
    return true;
  }

  /** Removes the partitions with the highest ids. */
  async delete(call: ChangePartitions, options?: CallOptions): Promise<true> {
    await this.#caller.write(deletePartitions, request(call), about(call), options);
    return true;
  }
}

const request = ({ streamId, topicId, partitionCount = 1 }: ChangePartitions) => ({
  ...topicTarget(streamId, topicId),
  partitionsCount: integer("partitionCount", partitionCount, 1, 1000),
});

const about = ({ streamId, topicId }: ChangePartitions) => ({ streamId, topicId });

export interface DeleteSegments extends TopicTarget {
  readonly partitionId: number;
  /** 1 to 100000. */
  readonly segmentsCount: number;
}

export class SegmentApi {
  readonly #caller: Calls;

  constructor(caller: Calls) {
    this.#caller = caller;
  }

  /** Deletes the oldest sealed segments: never the active one, never past the lowest committed offset. */
  async delete(call: DeleteSegments, options?: CallOptions): Promise<true> {
    const { streamId, topicId, segmentsCount } = call;
    if (segmentsCount === 0) {
      throw new ValidationError(ErrorCode.InvalidSegmentsCount, "segmentsCount takes 1 to 100000, got 0");
    }
    const partitionId = u32("partitionId", call.partitionId);
    const body = {
      ...topicTarget(streamId, topicId),
      partitionId,
      segmentsCount: integer("segmentsCount", segmentsCount, 1, 100_000),
    };
    await this.#caller.write(deleteSegments, body, { streamId, topicId, partitionId }, options);
    return true;
  }
}
