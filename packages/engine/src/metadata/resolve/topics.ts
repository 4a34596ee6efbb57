import {
  admitCreate,
  type AdmittedCreate,
  checkPreallocation,
  checkReplicationFactor,
  checkSegmentSize,
  checkTopicSize,
  createTopic,
  createTopicWithAssignments,
  ErrorCode,
  limits,
  Operation,
} from "@iggy/protocol";
import { attempt } from "../attempt.js";
import { findStream } from "../state/lookups.js";
import { Refusal } from "../refusal.js";
import { optionU64Of, topicSettings } from "../state/topic-settings.js";
import { assignments, exceedsPartitionLimit } from "./placing.js";
import { deny, propose, resolver } from "./resolver.js";

/** Fills in the options that the client left to the server, and places the partitions. */
export const resolveCreateTopic = resolver(createTopic, (context, request) => {
  const { state, config, inputs } = context;
  const { partitionsCount, name } = request;
  if (partitionsCount > limits.partitionsPerRequest) return deny(ErrorCode.TooManyPartitions);
  const options = attempt(() => {
    const node = { replicationFactor: config.defaultReplicationFactor };
    const admitted = admitCreate("topic", request.options, { name }, node);
    checkTogether(admitted, partitionsCount, config.nodes.length);
    return admitted;
  });
  if (options instanceof Refusal) return deny(options.code);
  // A stream that is missing, or closed to the caller, is for the log to refuse.
  const stream = findStream(state, request.streamId);
  const isKnown = !(stream instanceof Refusal);
  const isLimited = exceedsPartitionLimit(context, partitionsCount);
  if (isLimited && isKnown && context.mayDo("createTopic", stream.id)) return deny(ErrorCode.PartitionsLimitReached);
  const place = isKnown ? { streamId: stream.id, topicId: stream.topics.nextId ?? 0 } : { streamId: 0, topicId: 0 };
  const { replicationFactor } = topicSettings([...options.explicit, ...options.derived]);
  return propose(Operation.CreateTopicWithAssignments, createTopicWithAssignments, {
    request: { ...request, options: options.explicit },
    derivedOptions: options.derived,
    partitions: assignments(inputs.placement, place, partitionsCount, replicationFactor),
  });
});

/** What no single value shows. */
function checkTogether({ explicit, derived }: AdmittedCreate, partitionsCount: number, nodesCount: number): void {
  const entries = [...explicit, ...derived];
  const settings = topicSettings(entries);
  const segmentSize = optionU64Of(entries, "segment_size");
  checkSegmentSize(segmentSize);
  checkTopicSize(optionU64Of(entries, "max_topic_size"), segmentSize);
  if (settings.preallocateSegments) checkPreallocation(segmentSize, partitionsCount);
  checkReplicationFactor(settings.replicationFactor, nodesCount);
}
