import { type ProducerSection, sendMessages } from "@iggy/protocol";
import { type Answer, first, outcome, type RawPartition, type Seeded } from "../raw-client/index.js";
import type { Client } from "./client.js";
import type { Content, Shape } from "./content.js";
import { Lane, type Pending } from "./lane.js";
import type { Ledger } from "./ledger.js";
import { messagesFrom } from "./stored-messages.js";

export interface ProducerOptions {
  readonly lane: number;
  readonly shape: Shape;
  /** Makes it an idempotent producer, whose batches a new session may send again. */
  readonly producerId?: bigint;
}

/** How far back an ordinary check reads. */
const RECENT_OFFSETS = 2000;

/** Sends batches, and remembers where each was stored. */
export class ProducerLane extends Lane {
  private readonly place: RawPartition;
  private readonly ledger: Ledger;
  private readonly content: Content;
  private readonly random: Seeded;
  private readonly options: ProducerOptions;
  private batch = 0;
  private sequence = 0;

  constructor(
    client: Client,
    place: RawPartition,
    parts: { readonly ledger: Ledger; readonly content: Content; readonly random: Seeded },
    options: ProducerOptions,
  ) {
    super(client);
    this.place = place;
    this.ledger = parts.ledger;
    this.content = parts.content;
    this.random = parts.random;
    this.options = options;
    parts.ledger.admit(options.lane, options.shape);
  }

  protected next(): Pending {
    const name = { lane: this.options.lane, batch: ++this.batch };
    this.ledger.sent(name);
    return this.request();
  }

  /** An idempotent producer sends the same batch from its new session; any other never learns what became of it. */
  protected renewed(): Pending | undefined {
    return this.pending === undefined || this.options.producerId === undefined ? undefined : this.request();
  }

  async faults(thorough: boolean): Promise<string[]> {
    const from = thorough ? 0 : Math.max(0, this.ledger.end - this.random.integer(RECENT_OFFSETS));
    const partition = this.client.partition(this.place);
    const oldest = async (): Promise<number | undefined> =>
      (await partition.poll(first, { count: 1 })).messages[0]?.offset;
    return this.ledger.faults(messagesFrom(partition, from), from, oldest);
  }

  /** The last batch again, as a request of its own: it must be known. */
  async repeatLast(): Promise<string[]> {
    if (this.options.producerId === undefined || this.batch === 0) return [];
    const { frame, settle } = this.request(this.client.session.nextRequest());
    const answer = await this.client.session.deliver(frame);
    settle(answer);
    return [];
  }

  private request(request?: number): Pending {
    const { lane, shape } = this.options;
    const name = { lane, batch: this.batch };
    const payloads = this.content.payloadsOf(name, shape);
    const frame = this.client.partition(this.place).sendFrame(
      payloads.map((payload) => ({ payload, originTimestamp: 1 })),
      { producer: this.section(request === undefined ? this.sequence : this.sequence - payloads.length) },
      request === undefined ? {} : { request },
    );
    const settle = (answer: Answer): void => {
      if (answer.kind !== "ok") throw new Error(`${this.ledger.title}, lane ${lane}: ${outcome(answer)}`);
      const [confirmation] = this.client.session.decoded(sendMessages, answer).confirmations;
      this.ledger.acknowledge(name, payloads.length, Number(confirmation?.baseOffset ?? -1));
      if (request === undefined) this.sequence += payloads.length;
    };
    return { frame, settle };
  }

  private section(baseSequence: number): ProducerSection | null {
    const { producerId } = this.options;
    return producerId === undefined ? null : { id: producerId, epoch: 0, baseSequence };
  }
}
