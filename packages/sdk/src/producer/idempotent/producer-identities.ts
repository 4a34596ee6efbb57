import type { CallOptions } from "../../api/caller.js";
import type { SendCalls } from "../../api/sends.js";
import { CallOrder } from "../call-order.js";
import type { ProducerTopic } from "../outgoing-batch.js";
import { checkedIdentity, type IdempotentSettings, maxEpoch, type ProducerIdentity } from "./idempotent-options.js";

/** Tries to get a session, in case one is lost while an id is asked for. */
const maxReads = 3;

/** The identity of a producer for one topic. Each start of its numbers takes an epoch above all before. */
export class TopicIdentity {
  readonly #topic: ProducerTopic;
  readonly #sends: SendCalls;
  readonly #settings: IdempotentSettings;
  readonly #isOwn: boolean;
  /** One change at a time, each saved before it is used. */
  readonly #changes = new CallOrder();
  #current: ProducerIdentity | undefined;

  constructor(topic: ProducerTopic, isOwn: boolean, sends: SendCalls, settings: IdempotentSettings) {
    this.#topic = topic;
    this.#isOwn = isOwn;
    this.#sends = sends;
    this.#settings = settings;
  }

  /** The identity that a partition begins with. */
  async current(options: CallOptions): Promise<ProducerIdentity> {
    return this.#current ?? this.#changes.run(async () => this.#current ?? this.#use(await this.#first(options)));
  }

  /** An identity under which no partition of the topic has seen anything. */
  next(options: CallOptions): Promise<ProducerIdentity> {
    return this.#changes.run(async () => this.#use(await this.#after(this.#current, options)));
  }

  async #first(options: CallOptions): Promise<ProducerIdentity> {
    const { load, first } = this.#settings;
    const saved = await load?.(this.#topic.about);
    if (saved !== undefined && saved !== null) {
      return this.#after(checkedIdentity("the result of idempotent.load", saved), options);
    }
    if (first !== undefined && this.#isOwn) return first;
    return { id: await this.#newId(options), epoch: 0 };
  }

  async #after(identity: ProducerIdentity | undefined, options: CallOptions): Promise<ProducerIdentity> {
    if (identity === undefined) return this.#first(options);
    const { id, epoch } = identity;
    if (epoch < maxEpoch) return { id, epoch: epoch + 1 };
    return { id: await this.#newId(options), epoch: 0 };
  }

  async #use(identity: ProducerIdentity): Promise<ProducerIdentity> {
    const { id, epoch } = identity;
    await this.#settings.save?.({ ...this.#topic.about, id, epoch });
    this.#current = identity;
    return identity;
  }

  /** Ids are numbered per session, so there must be one. */
  async #newId(options: CallOptions): Promise<bigint> {
    const { name, about } = this.#topic;
    for (let read = 0; read < maxReads && !this.#sends.isBound; read++) {
      await this.#sends.readPartitions(name, about, options);
    }
    return this.#sends.nextProducerId();
  }
}
