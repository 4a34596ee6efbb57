import {
  type Consumer,
  ErrorCode,
  IggyError,
  MAX_READ_TIMEOUT_MICROS,
  MAX_READ_WAIT_MICROS,
  MIN_READ_MAX_BYTES,
  MIN_READ_REPLY_MARGIN_MICROS,
  numericId,
  type PartitionContext,
  type PollingStrategy,
} from "@iggy/protocol";
import {
  object,
  oneOf,
  optional,
  parseJson,
  partitionContextShape,
  type Shape,
  ShapeError,
  type ShapeValue,
} from "../json/index.js";
import { flagText, identifierText, u32Text, u64Text } from "../route/index.js";

export const CONSUMER_KINDS = ["consumer", "consumer_group", "external_group"] as const;

/** Who reads, and where: the part that polls and consumer offsets share. */
export const consumerQuery = {
  consumer_kind: optional(oneOf(...CONSUMER_KINDS), "consumer" as const),
  consumer_id: optional(identifierText, numericId(1)),
  partition_id: optional(u32Text, 0),
} as const;

const strategyWords = {
  offset: "offset",
  timestamp: "timestamp",
  first: "first",
  last: "last",
  next: "next",
  o: "offset",
  t: "timestamp",
  f: "first",
  l: "last",
  n: "next",
} as const satisfies Readonly<Record<string, PollingStrategy["kind"]>>;

/** A partition context as JSON text. */
const contextText: Shape<PartitionContext> = {
  schema: { type: "string", contentMediaType: "application/json", contentSchema: partitionContextShape.schema },
  read: (text) => {
    if (typeof text !== "string") throw new ShapeError("is missing");
    return partitionContextShape.read(parseJson(text));
  },
};

const pollQueryFields = {
  ...consumerQuery,
  kind: optional(oneOf("offset", "timestamp", "first", "last", "next", "o", "t", "f", "l", "n"), "offset" as const),
  value: optional(u64Text, 0n),
  context: optional(contextText, null),
  count: optional(u32Text, 10),
  auto_commit: optional(flagText, false),
} as const;

export const pollQuery = object(pollQueryFields);
export type PollQuery = ShapeValue<typeof pollQuery>;

export const deferredPollQuery = object({
  ...pollQueryFields,
  wait_us: optional(u64Text, 0n),
  min_count: optional(u32Text, 1),
  max_bytes: optional(u32Text, 1_048_576),
  request_timeout_us: optional(u64Text, undefined),
});
export type DeferredPollQuery = ShapeValue<typeof deferredPollQuery>;

export const consumerOf = (query: Pick<PollQuery, "consumer_kind" | "consumer_id">): Consumer => ({
  kind: query.consumer_kind,
  id: query.consumer_id,
});

export const strategyOf = ({ kind, value }: PollQuery): PollingStrategy => ({ kind: strategyWords[kind], value });

/** How long a read may wait, and for what. */
export interface Wait {
  readonly waitUs: bigint;
  readonly minCount: number;
  readonly maxBytes: number;
  readonly requestTimeoutUs: bigint;
}

const MAX_WAIT = BigInt(MAX_READ_WAIT_MICROS);
const MAX_TIMEOUT = BigInt(MAX_READ_TIMEOUT_MICROS);
const MARGIN = BigInt(MIN_READ_REPLY_MARGIN_MICROS);
/** What a request may take beyond its wait when it does not say so. */
const DEFAULT_MARGIN = 10_000_000n;

/** The limits of a wait; each that is broken has a code of its own. */
export function waitOf(query: DeferredPollQuery): Wait {
  const { wait_us: waitUs, min_count: minCount, max_bytes: maxBytes, count } = query;
  const requestTimeoutUs = query.request_timeout_us ?? waitUs + DEFAULT_MARGIN;
  const leastTimeout = waitUs === 0n ? 1n : waitUs + MARGIN;
  refuseUnless(waitUs <= MAX_WAIT, ErrorCode.InvalidCommand, `wait_us: takes up to ${MAX_READ_WAIT_MICROS}`);
  refuseUnless(
    requestTimeoutUs >= leastTimeout && requestTimeoutUs <= MAX_TIMEOUT,
    ErrorCode.InvalidCommand,
    `request_timeout_us: takes ${String(leastTimeout)} to ${MAX_READ_TIMEOUT_MICROS}`,
  );
  refuseUnless(
    minCount >= 1 && minCount <= count,
    ErrorCode.InvalidMessagesCount,
    `min_count: takes 1 to count, which is ${count}`,
  );
  refuseUnless(
    maxBytes >= MIN_READ_MAX_BYTES,
    ErrorCode.InvalidSizeBytes,
    `max_bytes: takes at least ${MIN_READ_MAX_BYTES}`,
  );
  return { waitUs, minCount, maxBytes, requestTimeoutUs };
}

function refuseUnless(condition: boolean, code: number, reason: string): void {
  if (!condition) throw new IggyError(code, reason);
}
