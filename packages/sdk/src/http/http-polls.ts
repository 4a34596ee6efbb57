import { ErrorCode, pollMessagesDeferred, provesNothingStored, stringifyJson } from "@iggy/protocol";
import type { CallOptions } from "../api/caller.js";
import { commitsOnRead, type PollCall, readMarginMs, remainingTimes } from "../api/polls.js";
import { Permits } from "../calls/permits.js";
import { type Scope, ScopeEnded } from "../calls/scope.js";
import { FeatureUnavailableError, type IggyError } from "../errors/index.js";
import { milliseconds } from "../values/duration.js";
import { PolledMessages } from "../values/polled-messages.js";
import { decodedAnswer, jsonOf } from "./http-caller.js";
import type { HttpCall, HttpLink, Run } from "./http-link.js";
import { polledReply } from "./polled-reply.js";
import type { ProgressBlocks } from "./progress-blocks.js";
import { contextJson, idText, query, topicPath } from "./routes/index.js";

/** Waiting reads of one client at once; more wait for their turn. */
export const maxWaitingReads = 64;
/** Pauses before a read is asked for again, ms. */
const pauseBaseMs = 50;
const pauseCapMs = 1000;
/** Bytes of JSON that one byte of the limit may become: a record of many small headers. */
const jsonPerByte = 16;
/** One record of the largest size: its payload in base64, and the rest. */
const largestRecordBytes = Math.ceil((64_000_000 * 4) / 3) + jsonPerByte * (100_000 + 1024);

/** Reads one partition over HTTP. Every read is one that waits, if only for no time. */
export class HttpPolls {
  readonly #link: HttpLink;
  readonly #blocks: ProgressBlocks;
  readonly #permits = new Permits(maxWaitingReads);

  constructor(link: HttpLink, blocks: ProgressBlocks) {
    this.#link = link;
    this.#blocks = blocks;
  }

  async poll(call: PollCall, options: CallOptions = {}): Promise<PolledMessages> {
    if (call.consumer.kind !== "consumer") {
      throw new FeatureUnavailableError("only a single consumer polls over HTTP: a group needs a binary transport");
    }
    const commits = commitsOnRead(call.limits);
    const defaultMs = call.limits.maxWaitMs + readMarginMs;
    const timeoutMs = milliseconds("timeout", options.timeout ?? defaultMs, 0, Infinity);
    const step = (scope: Scope, run: Run): Promise<PolledMessages> => this.#poll(call, commits, timeoutMs, scope, run);
    return this.#link.within({ command: pollMessagesDeferred, about: call.about }, options, defaultMs, step);
  }

  async #poll(call: PollCall, commits: boolean, timeoutMs: number, scope: Scope, run: Run): Promise<PolledMessages> {
    await this.#permits.take(scope);
    try {
      if (!commits && call.strategy.kind !== "next") return await this.#ask(call, commits, timeoutMs, scope, run);
      if (commits) this.#blocks.throwIfFull(pollMessagesDeferred.name);
      const leave = await this.#blocks.enter(call.partition, contextOf(call), scope);
      try {
        return await this.#ask(call, commits, timeoutMs, scope, run);
      } finally {
        leave();
      }
    } finally {
      this.#permits.give();
    }
  }

  /** Asks until there is an answer. What the server did not take is asked for again, with the time that is left. */
  async #ask(call: PollCall, commits: boolean, timeoutMs: number, scope: Scope, run: Run): Promise<PolledMessages> {
    for (let pauseMs = pauseBaseMs; ; pauseMs = Math.min(pauseCapMs, 2 * pauseMs)) {
      const error = await this.#attempt(call, commits, timeoutMs, scope, run);
      if (error instanceof PolledMessages) return error;
      run.lastError = error;
      const isUntaken =
        error.code === ErrorCode.TransientNotAccepted || error.code === ErrorCode.DeferredPollCapacityExceeded;
      if (!isUntaken) throw error;
      if (!(await scope.pause(pauseMs))) throw new ScopeEnded({ kind: "deadline" });
    }
  }

  /** The messages, or the error of an attempt that may be repeated. A committing read of unknown outcome rejects. */
  async #attempt(
    call: PollCall,
    commits: boolean,
    timeoutMs: number,
    scope: Scope,
    run: Run,
  ): Promise<PolledMessages | IggyError> {
    const uncertain = (cause: unknown): IggyError =>
      this.#blocks.block(call.partition, contextOf(call), call.about, cause);
    const attempt = await this.#link
      .attempt(httpCall(call, commits, timeoutMs, scope), scope, run)
      .catch((error: unknown) => {
        // The call ended while the request was under way. An abort keeps its reason; the block stays all the same.
        if (commits && run.isUncertain && error instanceof ScopeEnded) {
          const unknown = uncertain(run.lastError);
          if (error.end.kind === "deadline") throw unknown;
        }
        throw error;
      });
    switch (attempt.kind) {
      case "answered": {
        const { reply } = attempt;
        const messages = decodedAnswer(pollMessagesDeferred, () => polledReply(jsonOf(reply)));
        return new PolledMessages(messages, call.strategy, { maxCount: call.limits.count, verifyChecksums: false });
      }
      case "refused":
        if (commits && attempt.status !== 404 && !provesNothingStored(attempt.error.code, "request")) {
          throw uncertain(attempt.error);
        }
        return attempt.error;
      case "failed":
        if (commits && attempt.wasSent) throw uncertain(attempt.error);
        return attempt.error;
    }
  }
}

const contextOf = (call: PollCall): PollCall["context"] => call.strategy.bound?.context ?? call.context;

function httpCall(call: PollCall, commits: boolean, timeoutMs: number, scope: Scope): HttpCall {
  const { consumer, partition, strategy, limits, about } = call;
  const context = contextOf(call);
  const { waitUs, requestTimeoutUs } = remainingTimes(limits.maxWaitMs, timeoutMs, scope.elapsedMs);
  const path = `${topicPath(partition.streamId, partition.topicId)}/messages/deferred${query({
    consumer_kind: consumer.kind,
    consumer_id: idText(consumer.id),
    partition_id: partition.partitionId,
    kind: strategy.kind,
    value: strategy.value,
    context: context === undefined ? undefined : stringifyJson(contextJson(context)),
    count: limits.count,
    auto_commit: commits,
    wait_us: waitUs,
    min_count: limits.minCount,
    max_bytes: limits.maxBytes,
    request_timeout_us: requestTimeoutUs,
  })}`;
  return {
    command: pollMessagesDeferred,
    // Proxies may repeat a GET.
    request: { method: commits ? "POST" : "GET", path },
    effect: commits ? "committing-read" : "read",
    about,
    maxBytes: Math.max(jsonPerByte * limits.maxBytes, largestRecordBytes),
  };
}
