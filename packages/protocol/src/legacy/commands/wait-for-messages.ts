import { checked, list, struct, u32, u64, type ValueOf } from "../../codec/index.js";
import { command } from "../../commands/command.js";
import { Operation, readLimits } from "../../enums/index.js";
import { consumer, identifier, pollingStrategy } from "../../primitives/index.js";

const layout = struct("WaitForMessages", {
  consumer,
  streamId: identifier,
  topicId: identifier,
  waitUs: u64,
  requestTimeoutUs: u64,
  partitions: list(u32, struct("waited partition", { partitionId: u32, strategy: pollingStrategy }), {
    min: 1,
    max: readLimits.fetchTargets,
  }),
});
export type WaitForMessagesRequest = ValueOf<typeof layout>;

function fault({ waitUs, requestTimeoutUs, partitions }: WaitForMessagesRequest): string | undefined {
  if (waitUs > readLimits.maxWaitMicros) return "the wait is too long";
  const least = waitUs === 0n ? 1n : waitUs + readLimits.replyMarginMicros;
  if (requestTimeoutUs < least || requestTimeoutUs > readLimits.maxRequestTimeoutMicros) {
    return "the request timeout does not cover the wait";
  }
  if (partitions.some(({ strategy: { kind } }) => kind !== "offset" && kind !== "next")) {
    return "a wait starts at an offset or at the next message";
  }
  const ids = new Set(partitions.map(({ partitionId }) => partitionId));
  return ids.size === partitions.length ? undefined : "a partition is named twice";
}

/**
 * Waits until one of several partitions has messages; reads and commits nothing. Part of later builds of 0.12.0, replaced
 * by FetchMessages (109).
 *
 *   request  consumer · stream_id · topic_id · wait_us u64, up to 600 000 000 · request_timeout_us u64, up to 630 000 000
 *            [u32 count, 1 to 1000]([partition_id u32][strategy]) × count, nothing behind them
 *   reply    [u32 count](partition_id u32) × count; none when the wait ended
 */
export const waitForMessages = command({
  code: 107,
  name: "message.wait",
  title: "WaitForMessages",
  operation: Operation.NonReplicated,
  request: checked(layout, fault, (s) => ({
    ...layout.sample(s),
    waitUs: 5_000_000n,
    requestTimeoutUs: 6_000_000n,
    partitions: [{ partitionId: s.integer(1000), strategy: { kind: "next" as const, value: 0n } }],
  })),
  exact: true,
  response: struct("WaitForMessages reply", { partitions: list(u32, u32) }),
});
