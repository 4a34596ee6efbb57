import { checked, looseBool, restBytes, type Sample, struct, u32, u64, type ValueOf } from "../../codec/index.js";
import { readLimits } from "../../enums/index.js";
import { partitionContext, pollingStrategy } from "../../primitives/index.js";
import { consumerTargetFields } from "./targets.js";

/**
 *   consumer     consumer
 *   stream_id    identifier
 *   topic_id     identifier
 *   partition_id [flag u8][u32]
 *   strategy     [kind u8][value u64]
 *   count        u32, most messages
 *   auto_commit  u8, not 0 = store the offset of the last message of the answer
 */
export const pollRequest = struct("poll", {
  ...consumerTargetFields,
  strategy: pollingStrategy,
  count: u32,
  autoCommit: looseBool,
});
export type PollRequest = ValueOf<typeof pollRequest>;

/** When a waiting read answers, and how much. Times are µs, `maxBytes` counts reply prefix, headers and messages. */
interface WaitLimits {
  readonly waitUs: bigint;
  readonly minCount: number;
  readonly maxBytes: number;
}

/** Rules that a deferred poll and a fetch share. */
export function waitFault(limits: WaitLimits, count: number): string | undefined {
  if (limits.waitUs > readLimits.maxWaitMicros) return `a wait takes up to ${String(readLimits.maxWaitMicros)} µs`;
  if (limits.minCount < 1 || limits.minCount > count) {
    return `the least number of messages takes 1 to ${String(count)}, got ${String(limits.minCount)}`;
  }
  if (limits.maxBytes < readLimits.minMaxBytes)
    return `the byte limit takes at least ${String(readLimits.minMaxBytes)}`;
  return undefined;
}

export function sampleWait(s: Sample): WaitLimits & { readonly count: number } {
  const count = 1 + s.integer(1000);
  return {
    count,
    minCount: 1 + s.integer(count - 1),
    waitUs: BigInt(s.integer(Number(readLimits.maxWaitMicros))),
    maxBytes: readLimits.minMaxBytes + s.integer(1 << 20),
  };
}

const deferredLayout = struct("deferred poll", {
  poll: pollRequest,
  waitUs: u64,
  minCount: u32,
  maxBytes: u32,
  requestTimeoutUs: u64,
});
export type DeferredPollRequest = ValueOf<typeof deferredLayout>;

/**
 *   poll               poll
 *   wait_us            u64, 0 to 600 000 000
 *   min_count          u32, 1 to count
 *   max_bytes          u32, at least 344
 *   request_timeout_us u64, 1 to 630 000 000; at least wait + 1 s when it waits
 */
export const deferredPollRequest = checked(deferredLayout, deferredPollFault, (s) => {
  const { count, ...wait } = sampleWait(s);
  return {
    poll: { ...pollRequest.sample(s), count },
    ...wait,
    requestTimeoutUs: wait.waitUs + readLimits.replyMarginMicros,
  };
});

function deferredPollFault(request: DeferredPollRequest): string | undefined {
  const { waitUs, requestTimeoutUs } = request;
  const least = waitUs === 0n ? 1n : waitUs + readLimits.replyMarginMicros;
  if (requestTimeoutUs < least || requestTimeoutUs > readLimits.maxRequestTimeoutMicros) {
    return `the request timeout takes ${String(least)} to ${String(readLimits.maxRequestTimeoutMicros)} µs`;
  }
  return waitFault(request, request.poll.count);
}

/**
 * `currentOffset` is that of the last committed message, 0 also for an empty partition; the context is the one that
 * served the read. The records are stored batches back to back, a view for the message decoder.
 *
 *    0  partition_id   u32
 *    4  current_offset u64
 *   12  messages_count u32
 *   16  context        24 bytes
 *   40  records        to end
 */
export const pollReply = struct("poll reply", {
  partitionId: u32,
  currentOffset: u64,
  messagesCount: u32,
  context: partitionContext,
  records: restBytes,
});
export type PollReply = ValueOf<typeof pollReply>;
