import {
  checked,
  list,
  looseBool,
  restBytes,
  type Sample,
  struct,
  u32,
  u64,
  type ValueOf,
  WireError,
} from "../../codec/index.js";
import { readLimits } from "../../enums/index.js";
import { ErrorCode } from "../../errors/index.js";
import { consumer, identifier, partitionContext, pollingStrategy } from "../../primitives/index.js";
import { sampleWait, waitFault } from "./poll.js";

/**
 * One partition of a fetch with the fences that a poll carries in its header.
 *
 *    0  partition_id     u32, no partition twice
 *    4  strategy         [kind u8][value u64], offset or next
 *   13  max_bytes        u32, 344 to that of the request
 *   17  incarnation      u64
 *   25  owner_generation u64
 */
const fetchTarget = struct("fetch target", {
  partitionId: u32,
  strategy: pollingStrategy,
  maxBytes: u32,
  incarnation: u64,
  ownerGeneration: u64,
});
export type FetchTarget = ValueOf<typeof fetchTarget>;

const requestLayout = struct("fetch", {
  consumer,
  streamId: identifier,
  topicId: identifier,
  waitUs: u64,
  requestTimeoutUs: u64,
  minCount: u32,
  count: u32,
  maxBytes: u32,
  autoCommit: looseBool,
  targets: list(u32, fetchTarget, { min: 1, max: readLimits.fetchTargets }),
});
export type FetchRequest = ValueOf<typeof requestLayout>;

/**
 *   consumer           consumer
 *   stream_id          identifier
 *   topic_id           identifier
 *   wait_us            u64, 0 to 600 000 000
 *   request_timeout_us u64, wait + 1 s to 630 000 000, also without a wait
 *   min_count          u32, 1 to count, over all targets together
 *   count              u32, most messages of the whole reply
 *   max_bytes          u32, at least 344; all records of the reply together
 *   auto_commit        u8
 *   targets            [u32 count, 1 to 1000][33 bytes × count], nothing behind them
 */
export const fetchRequest = checked(requestLayout, fetchFault, sampleFetch);

function fetchFault(request: FetchRequest): string | undefined {
  const { waitUs, requestTimeoutUs, targets } = request;
  const least = waitUs + readLimits.replyMarginMicros;
  if (requestTimeoutUs < least || requestTimeoutUs > readLimits.maxRequestTimeoutMicros) {
    return `the request timeout takes ${String(least)} to ${String(readLimits.maxRequestTimeoutMicros)} µs`;
  }
  const fault = waitFault(request, request.count);
  if (fault !== undefined) return fault;
  if (new Set(targets.map((target) => target.partitionId)).size !== targets.length) return "a partition is named twice";
  for (const { strategy, maxBytes } of targets) {
    if (strategy.kind !== "offset" && strategy.kind !== "next") return `a fetch can not start at ${strategy.kind}`;
    if (maxBytes < readLimits.minMaxBytes || maxBytes > request.maxBytes) {
      return `the byte limit of a target takes ${String(readLimits.minMaxBytes)} to that of the request`;
    }
  }
  return undefined;
}

function sampleFetch(s: Sample): FetchRequest {
  const wait = sampleWait(s);
  const targets = Array.from({ length: 1 + s.integer(3) }, (_, index) => ({
    ...fetchTarget.sample(s),
    partitionId: index * 7,
    strategy: { kind: s.boolean() ? ("offset" as const) : ("next" as const), value: s.bigint(64) },
    maxBytes: readLimits.minMaxBytes + s.integer(wait.maxBytes - readLimits.minMaxBytes),
  }));
  return {
    ...requestLayout.sample(s),
    ...wait,
    requestTimeoutUs: wait.waitUs + readLimits.replyMarginMicros,
    targets,
  };
}

/** Bytes that a reply to this fetch may take without a record above its limit: count, section table and records. */
export const fetchReplyLimit = (request: FetchRequest): number =>
  4 + readLimits.fetchSectionSize * request.targets.length + request.maxBytes;

/**
 * What one partition answered. `status` is 0 for a read, else the error code of this partition, and then everything
 * behind it is zero. `nextOffset` is where its next fetch starts.
 *
 *    0  partition_id   u32
 *    4  status         u32
 *    8  current_offset u64
 *   16  messages_count u32
 *   20  context        24 bytes
 *   44  next_offset    u64
 *   52  records_len    u32, bytes of this section's records
 */
const fetchSection = struct("fetch section", {
  partitionId: u32,
  status: u32,
  currentOffset: u64,
  messagesCount: u32,
  context: partitionContext,
  nextOffset: u64,
  recordsLen: u32,
});
export type FetchSection = ValueOf<typeof fetchSection>;

const replyLayout = struct("fetch reply", {
  sections: list(u32, fetchSection, { max: readLimits.fetchTargets }),
  records: restBytes,
});
export type FetchReply = ValueOf<typeof replyLayout>;

/**
 * A table of sections, then their records in table order: stored batches, a view for the message decoder. The lengths
 * of the table must add up to the records exactly, and an error section has none.
 *
 *   sections [u32 count, up to 1000][56 bytes × count]
 *   records  to end
 */
export const fetchReply = checked(replyLayout, replyFault, (s) => {
  const sections = Array.from({ length: s.integer(3) }, () => {
    const section = fetchSection.sample(s);
    const status = s.boolean() ? 0 : section.status;
    return { ...section, status, recordsLen: status === 0 ? s.integer(16) : 0 };
  });
  return { sections, records: s.bytes(sections.reduce((sum, section) => sum + section.recordsLen, 0)) };
});

function replyFault({ sections, records }: FetchReply): string | undefined {
  if (sections.some(({ status, recordsLen }) => status !== 0 && recordsLen > 0)) return "an error section has records";
  const total = sections.reduce((sum, section) => sum + section.recordsLen, 0);
  if (total === records.length) return undefined;
  return `the sections hold ${String(total)} bytes of records, the reply ${String(records.length)}`;
}

/** Each section with the view of its own records. */
export function fetchSections({ sections, records }: FetchReply): { section: FetchSection; records: Uint8Array }[] {
  let end = 0;
  return sections.map((section) => {
    const start = end;
    end += section.recordsLen;
    return { section, records: records.subarray(start, end) };
  });
}

/**
 * Checks a reply against the fetch that it answers: every section names a requested partition, none twice, and all
 * together hold at most `count` messages. Anything else is `InvalidFormat` (4).
 */
export function checkFetchReply(request: FetchRequest, reply: FetchReply): void {
  const open = new Set(request.targets.map((target) => target.partitionId));
  let messages = 0;
  for (const { partitionId, messagesCount } of reply.sections) {
    if (!open.delete(partitionId)) {
      throw new WireError(
        "Validation",
        `partition ${String(partitionId)} was not asked for, or answered twice`,
        4,
        ErrorCode.InvalidFormat,
      );
    }
    messages += messagesCount;
  }
  if (messages > request.count) {
    throw new WireError(
      "Validation",
      `${String(messages)} messages, at most ${String(request.count)} asked`,
      4,
      ErrorCode.InvalidFormat,
    );
  }
}
