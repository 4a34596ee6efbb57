import type { CreateTopic } from "../api/topics.js";
import type { Partitioner } from "../client/config.js";
import { FeatureUnavailableError } from "../errors/index.js";
import { integer } from "../values/check.js";
import { type Duration, milliseconds } from "../values/duration.js";
import { type Id, toIdentifier } from "../values/id.js";
import { Partitioning, toPartitioning } from "../values/partitioning.js";

export interface ProducerOptions {
  readonly streamId: Id;
  readonly topicId: Id;
  readonly mode?: "direct" | "background";
  /** Create a missing stream; true without it. A numeric id creates nothing. */
  readonly createStream?: boolean;
  /** Create a missing topic, with these options; one partition without it. `false` creates none. */
  readonly createTopic?: false | Omit<CreateTopic, "streamId" | "name">;
  /** `Balanced` without it. */
  readonly partitioning?: Partitioning;
  /** Chooses the partition of each request; it wins over `partitioning`. */
  readonly partitioner?: Partitioner;
  /** Messages per request, 1000 without it; 0 for as many as 1,000,000. */
  readonly batchLength?: number;
  /** Least gap between sends; none without it. The chunks of one send follow each other at once. */
  readonly linger?: Duration;
  /** Repeats of a failed `init`. */
  readonly init?: { readonly retries?: number; readonly interval?: Duration };
}

export interface ProducerSettings {
  readonly streamId: Id;
  readonly topicId: Id;
  readonly createStream: boolean;
  readonly createTopic: false | Omit<CreateTopic, "streamId" | "name">;
  readonly partitioning: Partitioning;
  readonly partitioner: Partitioner | undefined;
  readonly batchLength: number;
  readonly lingerMs: number;
  readonly init: { readonly retries: number; readonly intervalMs: number };
}

const unlimitedBatch = 1_000_000;

export function producerSettings(options: ProducerOptions): ProducerSettings {
  if (options.mode === "background") {
    throw new FeatureUnavailableError("this build sends directly; it has no background producer");
  }
  toIdentifier("streamId", options.streamId);
  toIdentifier("topicId", options.topicId);
  const batchLength = integer("batchLength", options.batchLength ?? 1000, 0, unlimitedBatch);
  const { retries = 0, interval = 1000 } = options.init ?? {};
  return {
    streamId: options.streamId,
    topicId: options.topicId,
    createStream: options.createStream ?? true,
    createTopic: options.createTopic ?? { partitionCount: 1 },
    partitioning: toPartitioning(options.partitioning ?? Partitioning.Balanced),
    partitioner: options.partitioner,
    batchLength: batchLength === 0 ? unlimitedBatch : batchLength,
    lingerMs: milliseconds("linger", options.linger ?? 0, 0, 2 ** 31 - 1),
    init: {
      retries: retries === Infinity ? Infinity : integer("init.retries", retries, 0, 0xffff_ffff),
      intervalMs: milliseconds("init.interval", interval, 0, 2 ** 31 - 1),
    },
  };
}
