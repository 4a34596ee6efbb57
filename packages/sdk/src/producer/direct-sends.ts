import { ErrorCode } from "@iggy/protocol";
import type { CallOptions } from "../api/caller.js";
import type { SendCalls, SendConfirmation, SendResult } from "../api/sends.js";
import { TimeoutError } from "../errors/index.js";
import { withinTime } from "../time/in-time.js";
import { sleep } from "../time/sleep.js";
import { monotonicMs } from "../time/timers.js";
import { milliseconds } from "../values/duration.js";
import type { RandomIds } from "../values/random-ids.js";
import type { BatchSender } from "./batch-sender.js";
import { CallOrder } from "./call-order.js";
import { OutgoingBatch, type PartitionChoice, type RequestLimits } from "./outgoing-batch.js";
import type { PartitionChooser } from "./partition-chooser.js";
import type { PreparedSend } from "./prepared-send.js";
import { sendFailed } from "./send-failed.js";
import type { SendSteps, SendWork } from "./send-work.js";
import { type Turn, Turns } from "./turns.js";

export interface DirectParts {
  readonly sends: SendCalls;
  readonly sender: BatchSender;
  readonly chooser: PartitionChooser;
  readonly ids: RandomIds;
  readonly limits: RequestLimits;
  /** Least gap between sends. */
  readonly gapMs: number;
  readonly timeoutMs: number;
}

/** Messages of one send that leave in one request. */
interface Chunk {
  readonly from: number;
  readonly to: number;
  readonly choice: PartitionChoice;
}

interface Plan {
  readonly send: PreparedSend;
  readonly chunks: readonly Chunk[];
  /** Places in the queues of the partitions that are known, all taken at once. */
  readonly turns: readonly Turn[];
  readonly signIn: number;
}

/**
 * Sends at once: a send is cut into chunks that follow each other. Sends to one partition keep the order of the calls,
 * whatever encoding, encryption and choosing take.
 */
export class DirectSends {
  readonly #parts: DirectParts;
  readonly #steps: SendSteps;
  readonly #order = new CallOrder();
  readonly #turns = new Turns();
  readonly #underWay = new Set<Promise<unknown>>();
  #lastSentAt = -Infinity;

  constructor(parts: DirectParts, steps: SendSteps) {
    this.#parts = parts;
    this.#steps = steps;
  }

  async send(work: SendWork): Promise<SendResult> {
    const sending = this.#send(work);
    this.#underWay.add(sending);
    try {
      return await sending;
    } finally {
      this.#underWay.delete(sending);
    }
  }

  /** Waits for the sends of now. Their errors belong to those who called them. */
  async flush(): Promise<void> {
    await Promise.allSettled([...this.#underWay]);
  }

  async #send(work: SendWork): Promise<SendResult> {
    const { signIn } = this.#parts.sends;
    const plan = await this.#order.run(() => this.#plan(work, signIn));
    try {
      return { confirmations: await this.#sendChunks(work, plan) };
    } finally {
      for (const { leave } of plan.turns) leave();
    }
  }

  async #plan(work: SendWork, signIn: number): Promise<Plan> {
    const { topic, partitioning, options } = work;
    // Every message is checked before the first one leaves.
    const plain = await this.#steps.prepared(work);
    await this.#steps.initialized(work);
    await this.#keepGap(options.signal);
    const send = this.#steps.sealed === undefined ? plain : await this.#steps.sealed(plain);
    const chunks: Chunk[] = [];
    for (let from = 0; from < send.count;) {
      const to = this.#chunkEnd(send, from);
      const messages = from === 0 && to === send.count ? send.messages : send.messages.slice(from, to);
      const choice = await this.#parts.chooser.choose(topic, partitioning, messages, this.#timed(options));
      chunks.push({ from, to, choice });
      from = to;
    }
    const partitions = new Set(chunks.map(({ choice }) => choice.partitionId));
    partitions.delete(undefined);
    const turns = Array.from(partitions, (partition) => this.#turns.take(`${topic.spelling}/${String(partition)}`));
    return { send, chunks, turns, signIn };
  }

  async #sendChunks({ topic, options }: SendWork, plan: Plan): Promise<readonly SendConfirmation[]> {
    const { sender } = this.#parts;
    const { send, chunks, turns } = plan;
    const committed: SendConfirmation[] = [];
    const timed = this.#timed(options);
    let from = 0;
    let inRequest = 0;
    try {
      await this.#ready(turns, timed);
      for (const chunk of chunks) {
        from = chunk.from;
        inRequest = chunk.to - chunk.from;
        committed.push(...(await sender.send(this.#batchOf(topic, chunk, plan), timed)));
        this.#lastSentAt = monotonicMs();
      }
      return committed;
    } catch (error) {
      // An abort ends the wait alone: what was sent may be stored.
      const isAborted = options.signal?.aborted === true;
      throw sendFailed(error, topic, send.messages.slice(from), { inRequest, committed, isAborted });
    }
  }

  #batchOf(topic: SendWork["topic"], { from, to, choice }: Chunk, { send, signIn }: Plan): OutgoingBatch {
    let size = 0;
    for (let index = from; index < to; index++) size += send.sizeAt(index);
    const batch = new OutgoingBatch(topic, choice, signIn, size);
    for (let index = from; index < to; index++) batch.add(send, index, this.#parts.ids, choice.key);
    return batch;
  }

  #chunkEnd(send: PreparedSend, from: number): number {
    const { limits } = this.#parts;
    let size = 0;
    let to = from;
    while (to < send.count && to - from < limits.messages) {
      size += send.sizeAt(to);
      if (size > limits.bytes && to > from) break;
      to++;
    }
    return to;
  }

  async #ready(turns: readonly Turn[], options: CallOptions): Promise<void> {
    if (turns.length === 0) return;
    const timeoutMs = milliseconds("timeout", options.timeout ?? this.#parts.timeoutMs, 0, Infinity);
    await withinTime(
      Promise.all(turns.map(({ ready }) => ready)),
      { timeoutMs, signal: options.signal },
      () =>
        new TimeoutError(
          ErrorCode.TransientNotAccepted,
          `the send had no result in ${String(timeoutMs)} ms: earlier sends of the producer are still on the way`,
          timeoutMs,
        ),
    );
  }

  #timed(options: CallOptions): CallOptions {
    return options.timeout === undefined ? { ...options, timeout: this.#parts.timeoutMs } : options;
  }

  /** Keeps the least gap between sends. */
  async #keepGap(signal: AbortSignal | undefined): Promise<void> {
    const { gapMs } = this.#parts;
    if (gapMs === 0) return;
    const waitMs = this.#lastSentAt + gapMs - monotonicMs();
    if (waitMs > 0) await sleep(waitMs, signal === undefined ? {} : { signal });
  }
}
