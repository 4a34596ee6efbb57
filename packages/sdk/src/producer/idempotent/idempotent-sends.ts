import { advanceSequence, ErrorCode } from "@iggy/protocol";
import { type CallOptions, defaultTimeoutMs } from "../../api/caller.js";
import type { SendCalls, SendConfirmation } from "../../api/sends.js";
import { IggyError, OperationUncertainError, TimeoutError } from "../../errors/index.js";
import { withinTime } from "../../time/in-time.js";
import { milliseconds } from "../../values/duration.js";
import { checkSignIn } from "../batch-sender.js";
import type { OutgoingBatch, ProducerTopic } from "../outgoing-batch.js";
import { Turns } from "../turns.js";
import type { IdempotentSettings, ProducerIdentity } from "./idempotent-options.js";
import { TopicIdentity } from "./producer-identities.js";

/** How often a batch goes out again, under the same number or a new one. */
const maxResends = 3;
/** Topics whose numbers are kept; the one that was used longest ago gets a new producer id when it comes back. */
const maxTopics = 1024;

/** Numbers of one partition. */
interface Numbers {
  /** Undefined before the first batch, and after one that failed for good: the next one starts anew. */
  identity: ProducerIdentity | undefined;
  /** Number of the next message. */
  sequence: number;
}

interface TopicNumbers {
  readonly identity: TopicIdentity;
  readonly partitions: Map<number, Numbers>;
  /** Batches that wait or are on the way. */
  users: number;
}

export interface IdempotentParts {
  readonly sends: SendCalls;
  /** Lets go of an operation whose outcome is unknown. */
  readonly abandon: (operationId: bigint) => void;
  readonly settings: IdempotentSettings;
  /** The producer's own topic, as it is spelled. */
  readonly ownTopic: string;
  readonly owner: object;
}

/**
 * Numbers batches, so that servers store each once and in order. The batches of a partition go out one at a time, in the
 * order of asking. One whose outcome is unknown goes out again under the same number, which is safe; one that failed for
 * good leaves no hole, since the next one starts a new epoch.
 */
export class IdempotentSends {
  readonly #parts: IdempotentParts;
  readonly #topics = new Map<string, TopicNumbers>();
  readonly #turns = new Turns();
  /** Another producer took over the id: nothing more may be sent. */
  #fencedBy: IggyError | undefined;

  constructor(parts: IdempotentParts) {
    this.#parts = parts;
  }

  async send(batch: OutgoingBatch, partitionId: number, options: CallOptions): Promise<readonly SendConfirmation[]> {
    const { signal } = options;
    const timeoutMs = milliseconds("timeout", options.timeout ?? defaultTimeoutMs, 0, Infinity);
    const topic = this.#numbersOf(batch.topic);
    const turn = this.#turns.take(`${batch.topic.spelling}/${String(partitionId)}`);
    topic.users++;
    const leave = (): void => {
      topic.users--;
      turn.leave();
    };
    try {
      await withinTime(turn.ready, { timeoutMs, signal }, () => tooLate(batch, timeoutMs));
    } catch (error) {
      leave();
      throw error;
    }
    const work = this.#deliver(batch, partitionId, topic, { timeout: timeoutMs }).finally(leave);
    // An abort ends the caller's wait. The batch may be on its way, so its number stays taken until that is known.
    return signal === undefined ? work : withinTime(work, { timeoutMs: Infinity, signal }, noDeadline);
  }

  async #deliver(
    batch: OutgoingBatch,
    partitionId: number,
    topic: TopicNumbers,
    options: CallOptions,
  ): Promise<readonly SendConfirmation[]> {
    const numbers = topic.partitions.get(partitionId) ?? { identity: undefined, sequence: 0 };
    let uncertain: OperationUncertainError | undefined;
    for (let resends = 0; ; resends++) {
      if (this.#fencedBy !== undefined) throw this.#fencedBy;
      try {
        const identity = numbers.identity ?? (await this.#begin(topic, partitionId, numbers, options));
        const confirmations = await this.#sendNumbered(batch, partitionId, identity, numbers.sequence, options);
        numbers.sequence = advanceSequence(numbers.sequence, batch.count);
        return confirmations;
      } catch (error) {
        if (error instanceof OperationUncertainError) {
          uncertain = error;
          if (resends < maxResends) {
            this.#letGo(error);
            continue;
          }
        }
        // Whatever number comes next for the partition, it must not follow a hole.
        numbers.identity = undefined;
        if (IggyError.is(error, ErrorCode.ProducerEpochFenced)) this.#fencedBy = error;
        // The server forgot the producer, and says that it stored nothing of this batch.
        if (IggyError.is(error, ErrorCode.ProducerUnknown) && uncertain === undefined && resends < maxResends) continue;
        throw uncertain ?? error;
      }
    }
  }

  /** Starts the numbers of a partition: under the identity of the topic at first, later under one above it. */
  async #begin(
    topic: TopicNumbers,
    partitionId: number,
    numbers: Numbers,
    options: CallOptions,
  ): Promise<ProducerIdentity> {
    const isFirst = !topic.partitions.has(partitionId);
    const identity = isFirst ? await topic.identity.current(options) : await topic.identity.next(options);
    topic.partitions.set(partitionId, numbers);
    numbers.identity = identity;
    numbers.sequence = 0;
    return identity;
  }

  #sendNumbered(
    batch: OutgoingBatch,
    partitionId: number,
    { id, epoch }: ProducerIdentity,
    baseSequence: number,
    options: CallOptions,
  ): Promise<readonly SendConfirmation[]> {
    const { sends, owner } = this.#parts;
    checkSignIn(batch, sends);
    const { name, about } = batch.topic;
    const frame = batch.frameFor(partitionId, { id, epoch, baseSequence });
    return sends.sendFrame({ topic: name, partitionId, frame, about, owner }, options);
  }

  /** Frees the lane of an operation, so that its batch can go out again. */
  #letGo({ operationId }: OperationUncertainError): void {
    try {
      this.#parts.abandon(operationId);
    } catch (error) {
      // What a lost session took with it is not retained.
      if (!IggyError.is(error, ErrorCode.OperationNotRetained)) throw error;
    }
  }

  #numbersOf(topic: ProducerTopic): TopicNumbers {
    const { sends, settings, ownTopic } = this.#parts;
    const { spelling } = topic;
    const found = this.#topics.get(spelling);
    this.#topics.delete(spelling);
    const numbers = found ?? {
      identity: new TopicIdentity(topic, spelling === ownTopic, sends, settings),
      partitions: new Map<number, Numbers>(),
      users: 0,
    };
    this.#topics.set(spelling, numbers);
    for (const [oldest, { users }] of this.#topics) {
      if (this.#topics.size <= maxTopics) break;
      if (users === 0 && oldest !== ownTopic) this.#topics.delete(oldest);
    }
    return numbers;
  }
}

const tooLate = ({ topic }: OutgoingBatch, timeoutMs: number): Error =>
  new TimeoutError(
    ErrorCode.TransientNotAccepted,
    `message.send had no result in ${String(timeoutMs)} ms: earlier messages of the producer are still on the way`,
    timeoutMs,
    { context: topic.about },
  );

const noDeadline = (): Error => new Error("a wait without a deadline came to its end");
