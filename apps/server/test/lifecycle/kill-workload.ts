import {
  type Command,
  createConsumerGroup,
  createStream,
  createTopic,
  deleteStream,
  deleteTopic,
  encodeRequest,
  getConsumerGroups,
  getPartitionRoute,
  getStreams,
  type Identifier,
  namedId,
  numericId,
  type ProducerSection,
  storeConsumerOffset,
} from "@iggy/protocol";
import {
  type Answer,
  consumer,
  message,
  outcome,
  RawPartition,
  type RawSession,
  type Seeded,
  sleep,
  textOf,
} from "../raw-client/index.js";

const RETRY_MILLIS = 5;

/** What a client waits for when its server dies: it may or may not have happened. */
interface Pending {
  readonly frame: Uint8Array;
  readonly settle: (answer: Answer) => void;
}

/** One lane of a client: one request at a time, and the same frame again after a death until it is answered. */
abstract class Lane {
  protected readonly random: Seeded;
  private pending: Pending | undefined;

  constructor(random: Seeded) {
    this.random = random;
  }

  protected abstract readonly session: RawSession;
  /** The next request, and what an answer to it means. */
  protected abstract next(): Pending;

  /** Works until the connection is gone. Gives how many requests were answered. */
  async run(): Promise<number> {
    for (let answered = 0; ; answered++) {
      this.pending ??= this.next();
      const answer = await this.session.deliver(this.pending.frame);
      if (answer.kind === "closed") return answered;
      if (answer.kind === "refused" && answer.code === 58) await sleep(RETRY_MILLIS);
      else {
        this.pending.settle(answer);
        this.pending = undefined;
      }
    }
  }

  /** Repeats what has no answer yet; whatever it was, it is done afterwards. */
  async settle(): Promise<void> {
    for (; this.pending !== undefined;) {
      const { frame, settle } = this.pending;
      const answer = await this.session.deliver(frame);
      if (answer.kind === "closed") throw new Error("the server died while nobody killed it");
      if (answer.kind === "refused" && answer.code === 58) await sleep(RETRY_MILLIS);
      else {
        settle(answer);
        this.pending = undefined;
      }
    }
  }
}

/** Sends batches of texts that no other batch has, and remembers where each was stored. */
export class SenderLane extends Lane {
  protected readonly session: RawSession;
  private readonly partition: RawPartition;
  private readonly name: string;
  private readonly producerId: bigint | undefined;
  private readonly texts: string[] = [];
  private batches = 0;
  private sequence = 0;

  constructor(random: Seeded, partition: RawPartition, name: string, producerId?: bigint) {
    super(random);
    this.session = partition.session;
    this.partition = partition;
    this.name = name;
    this.producerId = producerId;
  }

  get acknowledged(): number {
    return this.texts.length;
  }

  protected next(): Pending {
    const size = this.random.integer(9) === 0 ? 20_000 : this.random.integer(300);
    const count = 1 + this.random.integer(7);
    const batch = ++this.batches;
    const texts = Array.from({ length: count }, (_, index) => `${this.name} ${batch}.${index} ${"x".repeat(size)}`);
    const producer = this.producer();
    const frame = this.partition.sendFrame(
      texts.map((text) => message(text)),
      { producer },
    );
    const settle = (answer: Answer): void => {
      if (answer.kind !== "ok") throw new Error(`${this.name}, batch ${batch}: ${outcome(answer)}`);
      const view = new DataView(answer.payload.buffer, answer.payload.byteOffset);
      const offset = Number(view.getBigUint64(16, true));
      if (offset !== this.texts.length) {
        throw new Error(`${this.name}, batch ${batch} is at ${offset} and not at ${this.texts.length}`);
      }
      this.texts.push(...texts);
      this.sequence += count;
    };
    return { frame, settle };
  }

  private producer(): ProducerSection | null {
    return this.producerId === undefined ? null : { id: this.producerId, epoch: 0, baseSequence: this.sequence };
  }

  /** What is wrong with what is stored, against what was acknowledged; nothing if all is well. */
  async faults(): Promise<string[]> {
    const stored = await this.partition.readAll();
    const faults: string[] = [];
    if (stored.length !== this.texts.length)
      faults.push(`${stored.length} messages, ${this.texts.length} acknowledged`);
    for (const [index, each] of stored.entries()) {
      if (each.offset !== index) faults.push(`offset ${each.offset} at place ${index}`);
      if (textOf(each) !== this.texts[index]) faults.push(`offset ${index} holds ${textOf(each).slice(0, 30)}`);
    }
    return faults.slice(0, 5).map((fault) => `${this.name}: ${fault}`);
  }

  /** Sends the last batch again under its producer section: it must be known, also as a request of its own. */
  async resendLast(): Promise<string> {
    const answer = await this.partition.trySend([message("never stored")], {
      producer: { id: this.producerId ?? 0n, epoch: 0, baseSequence: Math.max(0, this.sequence - 1) },
    });
    return outcome(answer);
  }
}

/** Stores offsets of one consumer, forth and back. */
export class OffsetLane extends Lane {
  protected readonly session: RawSession;
  private readonly partition: RawPartition;
  private readonly sender: SenderLane;
  private stored: number | undefined;

  constructor(random: Seeded, partition: RawPartition, sender: SenderLane) {
    super(random);
    this.session = partition.session;
    this.partition = partition;
    this.sender = sender;
  }

  protected next(): Pending {
    const { streamId, topicId, partitionId } = this.partition;
    const offset = this.random.integer(Math.max(0, this.sender.acknowledged - 1));
    const request = {
      consumer: consumer(5),
      streamId,
      topicId,
      partitionId,
      offset: BigInt(offset),
      ack: "quorum" as const,
    };
    const body = encodeRequest(storeConsumerOffset, request);
    const frame = this.session.frame(storeConsumerOffset, body, this.partition.context);
    const settle = (answer: Answer): void => {
      // Before the first message there is no offset to store.
      if (answer.kind === "ok") this.stored = offset;
      else if (outcome(answer) !== "status 4100") throw new Error(`an offset: ${outcome(answer)}`);
    };
    return { frame, settle };
  }

  async faults(): Promise<string[]> {
    const found = await this.partition.stored(consumer(5));
    const stored = found === null ? undefined : Number(found.storedOffset);
    return stored === this.stored ? [] : [`offset ${stored} is stored, ${this.stored} was acknowledged`];
  }
}

/** Creates and deletes streams, and creates groups. */
export class MetadataLane extends Lane {
  protected readonly session: RawSession;
  private readonly topic: RawPartition;
  private readonly streams = new Map<number, string>();
  private readonly groups: string[] = [];
  private made = 0;

  constructor(random: Seeded, topic: RawPartition) {
    super(random);
    this.session = topic.session;
    this.topic = topic;
  }

  protected next(): Pending {
    const [oldest] = this.streams.keys();
    const choice = this.random.integer(3);
    if (choice === 0 && oldest !== undefined) return this.deletion(oldest);
    return choice === 1 ? this.groupCreation() : this.streamCreation();
  }

  private streamCreation(): Pending {
    const name = `stream ${++this.made}`;
    const frame = this.session.frame(createStream, encodeRequest(createStream, { name, options: [] }));
    return {
      frame,
      settle: (answer) => {
        this.streams.set(this.session.decoded(createStream, answer).id, name);
      },
    };
  }

  private deletion(id: number): Pending {
    const frame = this.session.frame(deleteStream, encodeRequest(deleteStream, { streamId: numericId(id) }));
    return {
      frame,
      settle: (answer) => {
        this.session.decoded(deleteStream, answer);
        this.streams.delete(id);
      },
    };
  }

  private groupCreation(): Pending {
    const { streamId, topicId } = this.topic;
    const name = `group ${++this.made}`;
    const frame = this.session.frame(
      createConsumerGroup,
      encodeRequest(createConsumerGroup, { streamId, topicId, name }),
    );
    return {
      frame,
      settle: (answer) => {
        const { group: created } = this.session.decoded(createConsumerGroup, answer);
        if (created.id !== this.groups.length) throw new Error(`group ${this.groups.length} got id ${created.id}`);
        this.groups.push(name);
      },
    };
  }

  async faults(): Promise<string[]> {
    const { streamId, topicId } = this.topic;
    const { streams } = await this.session.call(getStreams, {});
    const found = streams.filter(({ name }) => name.startsWith("stream ")).map(({ id, name }) => `${id} ${name}`);
    const expected = [...this.streams].sort(([a], [b]) => a - b).map(([id, name]) => `${id} ${name}`);
    const { groups } = await this.session.call(getConsumerGroups, { streamId, topicId });
    const faults: string[] = [];
    if (found.join() !== expected.join()) faults.push(`streams ${found.join()}, acknowledged ${expected.join()}`);
    const names = groups.map(({ name }) => name);
    if (names.join() !== this.groups.join()) faults.push(`groups ${names.join()}, acknowledged ${this.groups.join()}`);
    return faults;
  }
}

const BATCHES_PER_TOPIC = 4;

/** Makes a topic, fills it and deletes it, over and over under the same ids: nothing of one may show in the next. */
export class ChurnLane extends Lane {
  protected readonly session: RawSession;
  private readonly streamId: Identifier;
  private partition: RawPartition | undefined;
  private state: "absent" | "made" | "open" = "absent";
  private topics = 0;
  private texts: string[] = [];

  constructor(random: Seeded, session: RawSession, streamId: Identifier) {
    super(random);
    this.session = session;
    this.streamId = streamId;
  }

  protected next(): Pending {
    const topic = { streamId: this.streamId, topicId: namedId("churn") };
    switch (this.state) {
      case "absent":
        return this.request(createTopic, { ...topic, name: "churn", partitionsCount: 2, options: [] }, () => {
          this.topics++;
          this.texts = [];
          this.state = "made";
        });
      case "made":
        return this.request(getPartitionRoute, { ...topic, partitionId: 1 }, (answer) => {
          const { incarnation, metadataOp } = this.session.decoded(getPartitionRoute, answer);
          this.partition = RawPartition.routed(this.session, topic, 1, { incarnation, metadataOp });
          this.state = "open";
        });
      case "open":
        return this.texts.length < BATCHES_PER_TOPIC && this.partition !== undefined
          ? this.sending(this.partition)
          : this.request(deleteTopic, topic, () => {
              this.state = "absent";
            });
    }
  }

  private sending(partition: RawPartition): Pending {
    const text = `topic ${this.topics}, message ${this.texts.length}`;
    return {
      frame: partition.sendFrame([message(text)]),
      settle: (answer) => {
        if (answer.kind !== "ok") throw new Error(`${text}: ${outcome(answer)}`);
        this.texts.push(text);
      },
    };
  }

  private request<Req, Res>(command: Command<Req, Res>, request: Req, done: (answer: Answer) => void): Pending {
    return {
      frame: this.session.frame(command, encodeRequest(command, request)),
      settle: (answer) => {
        if (answer.kind !== "ok") throw new Error(`${command.title} of topic ${this.topics}: ${outcome(answer)}`);
        done(answer);
      },
    };
  }

  async faults(): Promise<string[]> {
    if (this.state !== "open" || this.partition === undefined) return [];
    const stored = (await this.partition.readAll()).map(textOf);
    return stored.join() === this.texts.join() ? [] : [`the topic holds ${stored.join()} and not ${this.texts.join()}`];
  }
}
