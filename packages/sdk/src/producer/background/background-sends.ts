import { Permits } from "../../calls/permits.js";
import { Scope } from "../../calls/scope.js";
import type { SendCalls, SendResult } from "../../api/sends.js";
import { ProducerClosedError } from "../../errors/index.js";
import { monotonicMs } from "../../time/timers.js";
import type { RandomIds } from "../../values/random-ids.js";
import type { BatchSender } from "../batch-sender.js";
import { CallOrder } from "../call-order.js";
import type { OutgoingBatch, PartitionChoice, ProducerTopic, RequestLimits } from "../outgoing-batch.js";
import type { PartitionChooser } from "../partition-chooser.js";
import type { PreparedSend } from "../prepared-send.js";
import type { BackgroundSettings } from "../producer-options.js";
import { sendFailed } from "../send-failed.js";
import type { SendSteps, SendWork } from "../send-work.js";
import { BufferRoom } from "./buffer-room.js";
import { FailureReports } from "./failure-reports.js";
import { ShardChooser } from "./shard-chooser.js";
import { Worker, type WorkerClock } from "./worker.js";

export interface BackgroundParts {
  readonly sends: SendCalls;
  readonly sender: BatchSender;
  readonly chooser: PartitionChooser;
  readonly ids: RandomIds;
  readonly requests: RequestLimits;
  readonly settings: BackgroundSettings;
  readonly timeoutMs: number;
  /** Spelling of the producer's own topic. */
  readonly ownTopic: string;
  /** Takes what nobody else hears of. */
  readonly onError: (error: unknown) => void;
}

const timerClock: WorkerClock = {
  now: monotonicMs,
  after: (ms, step) => {
    const timer = setTimeout(step, ms);
    return () => clearTimeout(timer);
  },
};

/** Of a send that is queued: where its messages will be is not known yet. */
const queued: SendResult = { confirmations: [] };
const queuedNow = Promise.resolve(queued);

/**
 * Queues messages and sends them in batches. A send that finds room and needs nothing first is queued at once, without a
 * promise of its own; others take their turn, so that sends to one partition keep the order of the calls.
 */
export class BackgroundSends {
  readonly #parts: BackgroundParts;
  readonly #steps: SendSteps;
  readonly #order = new CallOrder();
  readonly #room: BufferRoom;
  readonly #inFlight: Permits;
  readonly #workers: readonly Worker[];
  readonly #shards: ShardChooser;
  readonly #reports: FailureReports;

  constructor(parts: BackgroundParts, steps: SendSteps) {
    const { settings, onError } = parts;
    this.#parts = parts;
    this.#steps = steps;
    this.#room = new BufferRoom(settings.bufferBytes, settings.waitMs);
    this.#inFlight = new Permits(settings.maxInFlight);
    this.#shards = new ShardChooser(settings.sharding, settings.shards);
    this.#reports = new FailureReports(
      settings.onError ?? (({ error }) => onError(error)),
      onError,
      settings.bufferBytes,
    );
    this.#workers = Array.from(
      { length: settings.shards },
      () =>
        new Worker({
          clock: timerClock,
          limits: { bytes: settings.batchBytes, sends: settings.batchSends, lingerMs: settings.lingerMs },
          requests: parts.requests,
          ids: parts.ids,
          send: (batch) => this.#deliver(batch),
        }),
    );
  }

  /** Resolves when the messages are queued. Rejects when they can not be: what was wrong with them, or no room. */
  send(work: SendWork): Promise<SendResult> {
    const { signIn } = this.#parts.sends;
    let prepared: PreparedSend | Promise<PreparedSend>;
    try {
      prepared = this.#steps.prepared(work);
      if (this.#queueNow(work, prepared, signIn)) return queuedNow;
      return this.#queueInTurn(work, prepared, signIn);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Waits for what was queued so far, and for the callbacks of what failed of it. */
  async flush(): Promise<void> {
    await this.#order.settled();
    await Promise.all(this.#workers.map((worker) => worker.flush()));
    await this.#reports.settled();
  }

  /** Reports what was not sent, and refuses sends that wait for room. Requests on the way go on. */
  drop(): void {
    const reason = new ProducerClosedError();
    this.#room.close(reason);
    for (const worker of this.#workers) {
      for (const batch of worker.drop()) {
        this.#room.give(batch.bytes);
        void this.#fail(batch, reason);
      }
    }
  }

  /** Queues a send that needs to wait for nothing. */
  #queueNow(work: SendWork, prepared: PreparedSend | Promise<PreparedSend>, signIn: number): boolean {
    if (prepared instanceof Promise || !this.#order.isIdle || this.#steps.sealed !== undefined) return false;
    if (work.options.signal?.aborted === true || this.#steps.initialized(work) !== undefined) return false;
    const choice = this.#parts.chooser.now(work.topic, work.partitioning);
    if (choice === undefined || !this.#room.tryTake(prepared.bytes)) return false;
    this.#add(work.topic, choice, signIn, prepared);
    return true;
  }

  async #queueInTurn(
    work: SendWork,
    prepared: PreparedSend | Promise<PreparedSend>,
    signIn: number,
  ): Promise<SendResult> {
    const { signal } = work.options;
    const wait = this.#room.enter(prepared instanceof Promise ? 0 : prepared.bytes, signal);
    try {
      await this.#order.run(async () => {
        let send = await prepared;
        await this.#steps.initialized(work);
        if (this.#steps.sealed !== undefined) send = await this.#steps.sealed(send);
        await wait.take(send.bytes);
        try {
          const choice = await this.#parts.chooser.choose(work.topic, work.partitioning, send.messages, {
            ...work.options,
            timeout: work.options.timeout ?? this.#parts.timeoutMs,
          });
          signal?.throwIfAborted();
          this.#add(work.topic, choice, signIn, send);
        } catch (error) {
          this.#room.give(send.bytes);
          throw error;
        }
      });
      return queued;
    } finally {
      wait.leave();
    }
  }

  #add(topic: ProducerTopic, choice: PartitionChoice, signIn: number, send: PreparedSend): void {
    const worker = this.#workers[this.#shards.choose(topic, choice)];
    worker?.add(topic, topic.spelling === this.#parts.ownTopic, choice, signIn, send);
  }

  async #deliver(batch: OutgoingBatch): Promise<void> {
    const scope = new Scope(Infinity);
    try {
      await this.#inFlight.take(scope);
    } finally {
      scope.dispose();
    }
    let failed: unknown;
    let hasFailed = false;
    try {
      await this.#parts.sender.send(batch, { timeout: this.#parts.timeoutMs });
    } catch (error) {
      failed = error;
      hasFailed = true;
    }
    this.#inFlight.give();
    // Before the failure is told: who sends its messages again must find the room that they had.
    this.#room.give(batch.bytes);
    if (hasFailed) await this.#fail(batch, failed);
  }

  #fail(batch: OutgoingBatch, cause: unknown): Promise<void> {
    const messages = batch.messages();
    const error = sendFailed(cause, batch.topic, messages, { inRequest: messages.length });
    return this.#reports.report({ ...batch.topic.about, error }, batch.bytes);
  }
}
