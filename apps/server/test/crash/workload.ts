import { createConsumerGroup, createStream, createTopic, numericId, type OptionEntry } from "@iggy/protocol";
import { ChurnLane, MetadataLane } from "../lifecycle/kill-workload.js";
import { expiry, maxTopicSize, persisted, RawPartition, segmentSize, Seeded } from "../raw-client/index.js";
import { Client } from "./client.js";
import { Content, type Shape } from "./content.js";
import type { Worker } from "./lane.js";
import { Ledger } from "./ledger.js";
import { ManyOffsetsLane } from "./many-offsets-lane.js";
import { GroupProgress, MemberLane } from "./member-lane.js";
import { ProducerLane } from "./producer-lane.js";
import { StoredOffsetLane } from "./stored-offset-lane.js";
import { TrimLane } from "./trim-lane.js";

const MIB = 1024 * 1024;
const MILLISECOND = 1000;

interface TopicPlan {
  readonly name: string;
  readonly options: readonly OptionEntry[];
  readonly keeps: Ledger["keeps"];
  /** Who writes to each partition. */
  readonly partitions: readonly ProducerPlan[];
}

interface ProducerPlan {
  readonly shape: Shape;
  /** Requests that one session has under way in the partition at a time. */
  readonly lanes: number;
  readonly idempotent?: boolean;
  /** `renewed`: the client is replaced after some of the crashes, and with it the session. */
  readonly client: "steady" | "renewed";
}

const small: ProducerPlan = { shape: "small", lanes: 4, client: "steady" };
const single: ProducerPlan = { shape: "one", lanes: 2, client: "renewed" };
const idempotent: ProducerPlan = { shape: "small", lanes: 1, idempotent: true, client: "renewed" };
const large: ProducerPlan = { shape: "large", lanes: 2, client: "steady" };
const huge: ProducerPlan = { shape: "huge", lanes: 1, idempotent: true, client: "renewed" };

/** The smallest segments, so that they rotate all the time. */
const segments = segmentSize(MIB);

const topics: readonly TopicPlan[] = [
  { name: "plain", options: [segments], keeps: "everything", partitions: [small, idempotent, single] },
  { name: "safe", options: [...persisted, segments], keeps: "everything", partitions: [small, idempotent, single] },
  {
    name: "expiring",
    options: [...persisted, segments, expiry(400 * MILLISECOND)],
    keeps: "newest",
    partitions: [large, { ...large, idempotent: true, lanes: 1 }, huge],
  },
  { name: "bounded", options: [segments, maxTopicSize(MIB)], keeps: "newest", partitions: [large, huge] },
  { name: "trimmed", options: [...persisted, segments], keeps: "newest", partitions: [large] },
  { name: "grouped", options: [...persisted, segments], keeps: "everything", partitions: [small, idempotent, small] },
  { name: "marked", options: [segments], keeps: "everything", partitions: [single] },
];

const MEMBERS = 2;

export interface Clients {
  /** Their sessions live as long as the data directory. */
  readonly steady: readonly Client[];
  readonly renewed: readonly Client[];
}

export interface Workload {
  readonly clients: Clients;
  readonly workers: readonly Worker[];
  /** Those of them that know what is owed while a request of theirs still has no answer. */
  readonly exact: readonly Worker[];
  readonly producers: readonly ProducerLane[];
  readonly ledgers: readonly Ledger[];
}

/** Fills an empty server and gives everything that works against it from then on. */
export async function prepare(port: number, seed: number): Promise<Workload> {
  const random = new Seeded(seed);
  const content = new Content(seed);
  const steady = [await Client.connect(port)];
  const renewed: Client[] = [];
  const own = async (clients: Client[]): Promise<Client> => {
    const client = await Client.connect(port);
    clients.push(client);
    return client;
  };
  const [{ session }] = steady as [Client];
  const streamId = numericId((await session.call(createStream, { name: "kept", options: [] })).id);
  const workers: Worker[] = [];
  const inexact: Worker[] = [];
  const producers: ProducerLane[] = [];
  const ledgers: Ledger[] = [];
  let lane = 0;
  for (const { name, options, keeps, partitions } of topics) {
    const made = await session.call(createTopic, { streamId, name, partitionsCount: partitions.length, options });
    const topic = { streamId, topicId: numericId(made.topic.id) };
    const client = await own(steady);
    const progress: GroupProgress[] = [];
    for (const [id, plan] of partitions.entries()) {
      const place = await RawPartition.of(client.session, streamId, topic.topicId, id);
      const ledger = new Ledger(`${name}/${id}`, content, keeps);
      ledgers.push(ledger);
      const sender = plan.client === "steady" ? client : await own(renewed);
      for (let i = 0; i < plan.lanes; i++) {
        const options = { lane: ++lane, shape: plan.shape, ...(plan.idempotent ? { producerId: BigInt(lane) } : {}) };
        producers.push(new ProducerLane(sender, place, { ledger, content, random }, options));
      }
      if (keeps === "everything") workers.push(new StoredOffsetLane(client, place, ledger, random, 1));
      if (name === "trimmed") workers.push(new TrimLane(client, place, random));
      if (name === "marked") workers.push(new ManyOffsetsLane(client, place, ledger, random));
      progress.push(new GroupProgress(place));
    }
    if (name === "grouped") {
      const created = await session.call(createConsumerGroup, { ...topic, name: "readers" });
      for (let i = 0; i < MEMBERS; i++)
        workers.push(new MemberLane(await own(steady), topic, created.group.id, progress, random));
    }
    if (name === "plain") {
      const place = await RawPartition.of((await own(steady)).session, streamId, topic.topicId, 0);
      inexact.push(new MetadataLane(random, place));
    }
  }
  const exact = [...producers, ...workers];
  for (const name of ["churned", "churned too"]) {
    const client = await own(steady);
    const { id } = await client.session.call(createStream, { name, options: [] });
    inexact.push(new ChurnLane(random, client.session, numericId(id)));
  }
  return { clients: { steady, renewed }, workers: [...exact, ...inexact], exact, producers, ledgers };
}
