import { ErrorCode } from "@iggy/protocol";
import { topicOptionEntries } from "../api/topic-options.js";
import type { CreateTopic } from "../api/topics.js";
import type { Partitioner } from "../client/config.js";
import { checkedEncryptor, type Encryptor } from "../encryption/index.js";
import { ValidationError } from "../errors/index.js";
import { checkedCodec, type PayloadCodec } from "../payload/index.js";
import { integer, wrongType } from "../values/check.js";
import { type Duration, milliseconds } from "../values/duration.js";
import { type Id, toIdentifier } from "../values/id.js";
import { optionEntries } from "../values/options.js";
import { Partitioning, toPartitioning } from "../values/partitioning.js";
import type { SendFailure } from "./background/failure-reports.js";
import {
  type IdempotentOptions,
  type IdempotentSettings,
  idempotentSettings,
} from "./idempotent/idempotent-options.js";
import type { MessageTracing } from "./message-tracing.js";

export interface ProducerOptions {
  readonly streamId: Id;
  readonly topicId: Id;
  /**
   * `direct`, the default: `send` resolves when its messages are committed. `background`: when they are queued; what
   * becomes of them later is told to `onError`.
   */
  readonly mode?: "direct" | "background";
  /** Create a missing stream; true without it. A numeric id creates nothing. */
  readonly createStream?: boolean;
  /** Create a missing topic, with these options; one partition without it. `false` creates none. */
  readonly createTopic?: false | Omit<CreateTopic, "streamId" | "name">;
  /** `Balanced` without it. */
  readonly partitioning?: Partitioning;
  /** Chooses the partition of each request; it wins over `partitioning`, and sees encrypted bytes. */
  readonly partitioner?: Partitioner;
  /** Encrypts payloads and headers; the client's without it, `false` for none. */
  readonly encryptor?: Encryptor | false;
  /**
   * Numbers every message, so that servers store it once and in order whatever happens on the way. All consumers of the
   * topic must speak protocol 0.12 or later.
   */
  readonly idempotent?: boolean | IdempotentOptions;
  /** Puts the trace of the caller into the headers of what is sent. */
  readonly tracing?: MessageTracing;
  /** Messages per request, 1000 without it; 0 for as many as 1,000,000. In background mode: sends that end a wait. */
  readonly batchLength?: number;
  /**
   * Direct: least gap between sends, none without it; the chunks of one send follow each other at once. Background: how
   * long messages wait for others, 1 ms without it.
   */
  readonly linger?: Duration;
  /** Time of each request, its retries included; 30 s without it. A direct send may say otherwise. */
  readonly timeout?: Duration;
  /** Repeats of a failed `init`. */
  readonly init?: { readonly retries?: number; readonly interval?: Duration };

  // Background mode alone:

  /** Queues that send apart from each other, each one request at a time; 1 without it, up to 1024. */
  readonly numShards?: number;
  /**
   * Which queue a send goes to: all of one topic to one (`ordered`, the default), all of one partition to one
   * (`partition`), one after the other without keeping any order (`balanced`), or what a function says.
   */
  readonly sharding?: Sharding;
  /** Bytes of a queue that end its wait, 1 MiB without it; 0 never ends it. */
  readonly batchSize?: number;
  /** Bytes that are queued or on the way, over all queues; 32 MiB without it, 0 for no bound. */
  readonly maxBufferSize?: number;
  /** What a send does that finds no room: wait (the default), wait so long, or fail. */
  readonly onFull?: "block" | "fail" | { readonly timeout: Duration };
  /** Requests on the way at once, over all queues; 1 without it, 0 for no bound. */
  readonly maxInFlight?: number;
  /** Takes messages that could not be sent. One call at a time. Without it they become an `error` event of the client. */
  readonly onError?: (failure: SendFailure) => void | Promise<void>;
}

/** A producer whose messages carry values instead of bytes. */
export interface TypedProducerOptions<Value> extends ProducerOptions {
  /** Makes payloads of values, such as `jsonPayload(schema)`. */
  readonly payload: PayloadCodec<Value, unknown>;
}

/** A send, for the choice of its queue. */
export interface ShardedSend {
  readonly streamId: Id;
  readonly topicId: Id;
  /** Undefined when it is chosen with the request. */
  readonly partitionId: number | undefined;
}

export type Sharding = "ordered" | "balanced" | "partition" | ((send: ShardedSend) => number);

export interface BackgroundSettings {
  readonly shards: number;
  readonly sharding: Sharding;
  /** Infinity for no limit, as the two that follow. */
  readonly batchBytes: number;
  readonly batchSends: number;
  readonly bufferBytes: number;
  readonly lingerMs: number;
  /** How long a send waits for room; 0 fails it at once. */
  readonly waitMs: number;
  readonly maxInFlight: number;
  readonly onError: ((failure: SendFailure) => void | Promise<void>) | undefined;
}

export interface ProducerSettings {
  readonly streamId: Id;
  readonly topicId: Id;
  readonly createStream: boolean;
  readonly createTopic: false | Omit<CreateTopic, "streamId" | "name">;
  readonly partitioning: Partitioning;
  readonly partitioner: Partitioner | undefined;
  readonly encryptor: Encryptor | undefined;
  readonly idempotent: IdempotentSettings | undefined;
  readonly tracing: MessageTracing | undefined;
  readonly payload: PayloadCodec<unknown, unknown> | undefined;
  readonly timeoutMs: number;
  readonly init: { readonly retries: number; readonly intervalMs: number };
  /** Messages of a request at most. */
  readonly batchLength: number;
  /** Direct mode: the gap between sends. */
  readonly gapMs: number;
  readonly background: BackgroundSettings | undefined;
}

/** What a producer takes of its client when its options say nothing. */
export interface ProducerDefaults {
  readonly partitioner: Partitioner | undefined;
  readonly encryptor: Encryptor | undefined;
}

/** Messages of one request, whatever the options say. */
export const maxBatchLength = 1_000_000;
const maxShards = 1024;
const longestTimerMs = 2 ** 31 - 1;
const mebibyte = 1_048_576;

const commonNames = [
  ...["streamId", "topicId", "mode", "createStream", "createTopic", "partitioning", "partitioner", "encryptor"],
  ...["idempotent", "tracing", "payload", "batchLength", "linger", "timeout", "init"],
];
const backgroundNames = ["numShards", "sharding", "batchSize", "maxBufferSize", "onFull", "maxInFlight", "onError"];

type AnyOptions = ProducerOptions & Partial<TypedProducerOptions<unknown>>;

/** Checks every option; errors name the one that is wrong. */
export function producerSettings(options: AnyOptions, defaults: ProducerDefaults): ProducerSettings {
  checkNames(options);
  toIdentifier("streamId", options.streamId);
  toIdentifier("topicId", options.topicId);
  const isBackground = modeOf(options.mode) === "background";
  const lingerMs = milliseconds("linger", options.linger ?? (isBackground ? 1 : 0), 0, longestTimerMs);
  const batchLength = integer("batchLength", options.batchLength ?? 1000, 0, maxBatchLength);
  const { retries = 0, interval = 1000 } = options.init ?? {};
  const encryptor = options.encryptor === false ? undefined : (options.encryptor ?? defaults.encryptor);
  return {
    streamId: options.streamId,
    topicId: options.topicId,
    createStream: boolean("createStream", options.createStream ?? true),
    createTopic: checkedTopic(options.createTopic ?? { partitionCount: 1 }),
    partitioning: toPartitioning(options.partitioning ?? Partitioning.Balanced),
    partitioner: checkedFunction("partitioner", options.partitioner) ?? defaults.partitioner,
    encryptor: checkedEncryptor("encryptor", encryptor),
    idempotent: idempotentSettings(options.idempotent ?? false),
    tracing: checkedTracing(options.tracing),
    payload: checkedCodec("payload", options.payload),
    timeoutMs: milliseconds("timeout", options.timeout ?? 30_000, 0, Infinity),
    init: {
      retries: retries === Infinity ? Infinity : integer("init.retries", retries, 0, 0xffff_ffff),
      intervalMs: milliseconds("init.interval", interval, 0, longestTimerMs),
    },
    batchLength: batchLength === 0 || isBackground ? maxBatchLength : batchLength,
    gapMs: isBackground ? 0 : lingerMs,
    background: isBackground ? backgroundSettings(options, lingerMs, batchLength) : undefined,
  };
}

function backgroundSettings(options: AnyOptions, lingerMs: number, batchLength: number): BackgroundSettings {
  const unlimited = (value: number): number => (value === 0 ? Infinity : value);
  const bytes = (name: string, value: number): number => unlimited(integer(name, value, 0, Number.MAX_SAFE_INTEGER));
  return {
    shards: integer("numShards", options.numShards ?? 1, 1, maxShards),
    sharding: checkedSharding(options.sharding ?? "ordered"),
    batchBytes: bytes("batchSize", options.batchSize ?? mebibyte),
    batchSends: unlimited(batchLength),
    bufferBytes: bytes("maxBufferSize", options.maxBufferSize ?? 32 * mebibyte),
    lingerMs,
    waitMs: waitOf(options.onFull ?? "block"),
    maxInFlight: unlimited(integer("maxInFlight", options.maxInFlight ?? 1, 0, 0xffff_ffff)),
    onError: checkedFunction("onError", options.onError),
  };
}

function checkNames(options: AnyOptions): void {
  for (const name of Object.keys(options)) {
    if (commonNames.includes(name)) continue;
    if (!backgroundNames.includes(name)) throw invalid(`a producer has no option ${name}`);
    if (options.mode !== "background") throw invalid(`${name} needs the mode "background"`);
  }
}

function modeOf(mode: string = "direct"): "direct" | "background" {
  if (mode === "direct" || mode === "background") return mode;
  throw invalid(`mode takes "direct" or "background", got ${JSON.stringify(mode)}`);
}

function checkedTopic(topic: false | Omit<CreateTopic, "streamId" | "name">): typeof topic {
  if (topic === false) return topic;
  if (typeof topic !== "object") throw wrongType("createTopic", "false or the options of a topic", topic);
  integer("createTopic.partitionCount", topic.partitionCount ?? 1, 0, 1000);
  topicOptionEntries(topic);
  optionEntries("topic", topic.options);
  return topic;
}

function checkedSharding(sharding: Sharding): Sharding {
  if (typeof sharding === "function" || ["ordered", "balanced", "partition"].includes(sharding)) return sharding;
  throw invalid(`sharding takes "ordered", "partition", "balanced" or a function`);
}

function waitOf(onFull: "block" | "fail" | { readonly timeout: Duration }): number {
  if (onFull === "block") return Infinity;
  if (onFull === "fail") return 0;
  if (typeof onFull === "object") return milliseconds("onFull.timeout", onFull.timeout, 0, longestTimerMs);
  throw invalid(`onFull takes "block", "fail" or { timeout }`);
}

function checkedTracing(tracing: MessageTracing | undefined): MessageTracing | undefined {
  if (tracing === undefined || typeof tracing.headers === "function") return tracing;
  throw wrongType("tracing", "an object with the function headers", tracing);
}

function checkedFunction<T>(argument: string, value: T | undefined): T | undefined {
  if (value === undefined || typeof value === "function") return value;
  throw wrongType(argument, "a function", value);
}

function boolean(argument: string, value: unknown): boolean {
  if (typeof value === "boolean") return value;
  throw wrongType(argument, "true or false", value);
}

const invalid = (message: string): ValidationError => new ValidationError(ErrorCode.InvalidConfiguration, message);
