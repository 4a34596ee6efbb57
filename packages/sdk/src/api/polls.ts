import {
  type Consumer as WireConsumer,
  type DeferredPollRequest,
  ErrorCode,
  HEADER_SIZE,
  type PartitionContext,
  pollMessagesDeferred,
} from "@iggy/protocol";
import type { Effect } from "../calls/decide.js";
import { FeatureUnavailableError, ValidationError } from "../errors/index.js";
import type { PartitionName } from "../routing/spelling.js";
import { milliseconds, toMicros } from "../values/duration.js";
import type { ReadLimits } from "../values/poll-options.js";
import { PolledMessages } from "../values/polled-messages.js";
import type { PollingStrategy } from "../values/polling-strategy.js";
import { type Caller, type CallOptions, decoded } from "./caller.js";
import { consumerKey } from "./consumer-target.js";

/** How much longer than its wait a read may take, ms. */
export const readMarginMs = 10_000;
/** What the wire takes at most for a read, ms. */
const maxRequestTimeoutMs = 630_000;
/** How much longer than its wait a request must live at least, µs. */
const minMarginUs = 1_000_000n;

/** What a client takes as the reply of a read. */
export interface ReplySettings {
  /** Largest reply frame, header included. */
  readonly maxFrameSize: number;
  readonly verifyChecksums: boolean;
}

export interface PollCall {
  readonly consumer: WireConsumer;
  readonly partition: PartitionName;
  readonly strategy: PollingStrategy;
  readonly limits: ReadLimits;
  readonly about: Readonly<Record<string, unknown>>;
  readonly owner?: object | undefined;
  /** History that the read must be served from, when the strategy names none. */
  readonly context?: PartitionContext | undefined;
  /** An abort of a read that commits cancels it and waits for what it did. */
  readonly awaitsOutcome?: boolean;
}

/** Reads one partition, waiting for messages. */
export class PollCalls {
  readonly #caller: Caller;
  readonly #settings: ReplySettings;

  constructor(caller: Caller, settings: ReplySettings) {
    this.#caller = caller;
    this.#settings = settings;
  }

  async poll(call: PollCall, options: CallOptions = {}): Promise<PolledMessages> {
    const { consumer, partition, strategy, limits } = call;
    const commits = commitsOnRead(limits);
    if (consumer.kind === "external_group") {
      throw new FeatureUnavailableError("an external group holds offsets only; it can not be polled");
    }
    const timeoutMs = options.timeout === undefined ? limits.maxWaitMs + readMarginMs : undefined;
    const given = timeoutMs ?? milliseconds("timeout", options.timeout ?? 0, 0, Infinity);
    const frameAt = (elapsedMs: number): Uint8Array =>
      this.#caller.encoded(pollMessagesDeferred, this.#request(call, commits, given, elapsedMs));
    const payload = await this.#caller.raw(
      {
        command: pollMessagesDeferred,
        effect: readEffect(commits, strategy.kind === "next"),
        target: { kind: "partition", partition },
        context: strategy.bound?.context ?? call.context,
        progress: commits || strategy.kind === "next" ? { consumer: consumerKey(consumer) } : undefined,
        isDeferred: true,
        awaitsOutcome: call.awaitsOutcome === true,
        frame: frameAt(0),
        laterFrame: frameAt,
        about: call.about,
        owner: call.owner,
        timeoutMs: given,
      },
      options,
    );
    return new PolledMessages(decoded(pollMessagesDeferred, payload), strategy, {
      maxCount: limits.count,
      verifyChecksums: this.#settings.verifyChecksums,
    });
  }

  #request(call: PollCall, commits: boolean, timeoutMs: number, elapsedMs: number): DeferredPollRequest {
    const { consumer, partition, strategy, limits } = call;
    return {
      poll: {
        consumer,
        streamId: partition.streamId,
        topicId: partition.topicId,
        partitionId: partition.partitionId,
        strategy: { kind: strategy.kind, value: strategy.value },
        count: limits.count,
        autoCommit: commits,
      },
      ...remainingTimes(limits.maxWaitMs, timeoutMs, elapsedMs),
      minCount: limits.minCount,
      maxBytes: Math.min(limits.maxBytes, this.#settings.maxFrameSize - HEADER_SIZE),
    };
  }
}

/** Whether the server stores the offset as part of the read. */
export function commitsOnRead({ commit }: ReadLimits): boolean {
  if (commit.kind === "auto") {
    throw new ValidationError(
      ErrorCode.InvalidConfiguration,
      "CommitPolicy.Auto is the work of a consumer; a single read takes Manual or OnRead",
    );
  }
  return commit.kind === "on-read";
}

export function readEffect(commits: boolean, fromStoredOffset: boolean): Effect {
  if (commits) return "committing-read";
  return fromStoredOffset ? "next-read" : "read";
}

interface ReadTimes {
  readonly waitUs: bigint;
  readonly requestTimeoutUs: bigint;
}

/** What is left of a read's wait and time when an attempt starts. A wait keeps its margin to the end. */
export function remainingTimes(maxWaitMs: number, timeoutMs: number, elapsedMs: number): ReadTimes {
  const leftUs = toMicros(Math.min(maxRequestTimeoutMs, Math.max(0, timeoutMs - elapsedMs)));
  const wishUs = toMicros(Math.max(0, maxWaitMs - elapsedMs));
  const mostUs = leftUs - minMarginUs;
  const waitUs = wishUs < mostUs ? wishUs : mostUs;
  return { waitUs: waitUs > 0n ? waitUs : 0n, requestTimeoutUs: leftUs > 0n ? leftUs : 1n };
}

/** The same for a grouped read, which takes no less time than the margin; the call itself may end before. */
export function remainingFetchTimes(maxWaitMs: number, timeoutMs: number, elapsedMs: number): ReadTimes {
  const { waitUs, requestTimeoutUs } = remainingTimes(maxWaitMs, timeoutMs, elapsedMs);
  return { waitUs, requestTimeoutUs: requestTimeoutUs > minMarginUs ? requestTimeoutUs : minMarginUs };
}
