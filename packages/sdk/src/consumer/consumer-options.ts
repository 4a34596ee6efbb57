import { ErrorCode } from "@iggy/protocol";
import type { Encryptor } from "../encryption/index.js";
import { ValidationError } from "../errors/index.js";
import { checkedCodec, type PayloadCodec } from "../payload/index.js";
import { longestTimerMs, type ReadSettings, readSettings } from "../reader/index.js";
import { integer, wrongType } from "../values/check.js";
import { Consumer } from "../values/consumer.js";
import { type Duration, milliseconds } from "../values/duration.js";
import type { Id } from "../values/id.js";
import type { PollOptions } from "../values/poll-options.js";
import type { PollingStrategy } from "../values/polling-strategy.js";

interface CommonOptions {
  readonly streamId: Id;
  readonly topicId: Id;
  /**
   * Where a partition without a position starts; `Next` without it, which is the oldest message when no offset is
   * stored. A group always goes on from its stored offset where there is one. A continuation is refused.
   */
  readonly pollingStrategy?: PollingStrategy;
  /** Per request; waits are 5 s without it. */
  readonly pollOptions?: PollOptions;
  /** Bytes of replies that are on the way or not yet delivered; 16 MiB without it. */
  readonly prefetchBytes?: number;
  /** The same in messages; 16,000 without it, or the count of a request when that is more. */
  readonly prefetchMessages?: number;
  /** Wait after a refused read, 1 s without it. */
  readonly pollingRetryInterval?: Duration;
  /** Decrypts payloads and headers; the client's without it, `false` for none. */
  readonly encryptor?: Encryptor | false;
  /** Repeats of `init` while the stream or topic is missing. */
  readonly init?: { readonly retries?: number; readonly interval?: Duration };
  /** True delivers messages again that were delivered before from the same history. */
  readonly allowReplay?: boolean;
  /**
   * Whether an error ends the read that meets it. Without it, what passes by itself becomes an `error` event, and what
   * somebody has to see to is thrown. `continue` throws only when nothing can be read any more.
   */
  readonly onError?: "throw" | "continue";
  /** How long `close()` waits for handlers and for the last stores of offsets, 5 s without it. */
  readonly offsetDrainTimeout?: Duration;
  /** Ends iteration and closes. */
  readonly signal?: AbortSignal;
}

export interface ConsumerOptions extends CommonOptions {
  /** Consumer id: a number, or a name. Offsets are stored under it. */
  readonly name: Id;
  /** Partitions to read. */
  readonly partitions: readonly number[];
}

export interface ConsumerGroupOptions extends CommonOptions {
  /** Group name, or the id of an existing group. */
  readonly name: Id;
  /** Create a missing group; true without it. A numeric id creates nothing. */
  readonly createGroup?: boolean;
}

/** Options of a consumer whose messages have values. */
export interface TypedPayload<Value> {
  /** Reads payloads: what `value()` of each message gives. */
  readonly payload: PayloadCodec<never, Value>;
}

export interface ConsumerSettings {
  readonly read: ReadSettings;
  readonly payload: PayloadCodec<never, unknown> | undefined;
  /** Whether the caller chose who stores offsets. */
  readonly isCommitChosen: boolean;
  readonly init: { readonly retries: number; readonly intervalMs: number };
  readonly allowReplay: boolean;
  readonly onError: "throw" | "continue" | undefined;
  readonly offsetDrainTimeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

type Payload = Partial<TypedPayload<unknown>>;

export function consumerSettings(
  options: ConsumerOptions & Payload,
  clientEncryptor: Encryptor | undefined,
): ConsumerSettings {
  return commonSettings(options, Consumer.Named(options.name), options.partitions, false, clientEncryptor);
}

export function groupSettings(
  options: ConsumerGroupOptions & Payload,
  clientEncryptor: Encryptor | undefined,
): ConsumerSettings {
  if ("partitions" in options) {
    throw new ValidationError(ErrorCode.InvalidCommand, "partitions: a group is told its partitions; it takes none");
  }
  return commonSettings(
    options,
    Consumer.Group(options.name),
    undefined,
    checkedBoolean("createGroup", options.createGroup ?? true),
    clientEncryptor,
  );
}

function commonSettings(
  options: CommonOptions & Payload,
  consumer: Consumer,
  partitions: readonly number[] | undefined,
  createGroup: boolean,
  clientEncryptor: Encryptor | undefined,
): ConsumerSettings {
  const { retries = 0, interval = 1000 } = options.init ?? {};
  return {
    read: readSettings(
      {
        consumer,
        streamId: options.streamId,
        topicId: options.topicId,
        partitions,
        createGroup,
        start: options.pollingStrategy,
        options: options.pollOptions,
        prefetchBytes: options.prefetchBytes,
        prefetchMessages: options.prefetchMessages,
        retryInterval: options.pollingRetryInterval,
        encryptor: options.encryptor === false ? undefined : (options.encryptor ?? clientEncryptor),
      },
      { start: "pollingStrategy", retryInterval: "pollingRetryInterval" },
    ),
    payload: checkedCodec("payload", options.payload),
    isCommitChosen: options.pollOptions?.commit !== undefined,
    init: {
      retries: retries === Infinity ? Infinity : integer("init.retries", retries, 0, 0xffff_ffff),
      intervalMs: milliseconds("init.interval", interval, 0, longestTimerMs),
    },
    allowReplay: checkedBoolean("allowReplay", options.allowReplay ?? false),
    onError: checkedOnError(options.onError),
    offsetDrainTimeoutMs: milliseconds("offsetDrainTimeout", options.offsetDrainTimeout ?? 5000, 0, longestTimerMs),
    signal: checkedSignal(options.signal),
  };
}

function checkedBoolean(argument: string, value: unknown): boolean {
  if (typeof value !== "boolean") throw wrongType(argument, "true or false", value);
  return value;
}

function checkedOnError(value: CommonOptions["onError"]): CommonOptions["onError"] {
  if (value === undefined || ["throw", "continue"].includes(value)) return value;
  throw new ValidationError(ErrorCode.InvalidConfiguration, 'onError takes "throw" or "continue"');
}

function checkedSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw wrongType("signal", "an AbortSignal", signal);
}
