import {
  createConsumerGroup,
  deleteConsumerGroup,
  deletePartitions,
  createPartitions,
  fetchMessages,
  getConsumerGroup,
  joinConsumerGroup,
  leaveConsumerGroup,
  logoutUser,
  numericId,
  syncConsumerGroup,
} from "@iggy/protocol";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import {
  eventually,
  freshTopic,
  group,
  message,
  messages,
  next,
  outcome,
  RawLink,
  type RawPartition,
  RawSession,
  type RawTopic,
  sleep,
  textOf,
} from "../raw-client/index.js";

const REBALANCING_MILLIS = 2000;

let server: RunningServer;
let admin: RawSession;
const members: Member[] = [];

beforeAll(async () => {
  server = await startServer({ config: { "consumer_group.rebalancing_timeout": `${REBALANCING_MILLIS}ms` } });
  admin = await RawSession.open(server.port);
});
afterEach(async () => {
  for (const { session } of members.splice(0)) await session.link.end();
});
afterAll(async () => {
  await admin.close();
  await server.close();
});

const NUMBER = 0;

async function topicWithGroup(partitions: number): Promise<RawTopic> {
  const topic = await freshTopic(admin, { partitions });
  const place = { streamId: numericId(topic.streamId), topicId: numericId(topic.topicId) };
  await admin.call(createConsumerGroup, { ...place, name: "group" });
  return topic;
}

/** A raw client that is a member of the topic's one group. */
class Member {
  readonly session: RawSession;
  readonly seen: string[] = [];
  private readonly topic: RawTopic;

  private constructor(session: RawSession, topic: RawTopic) {
    this.session = session;
    this.topic = topic;
  }

  static async join(topic: RawTopic): Promise<Member> {
    const member = new Member(await RawSession.open(server.port), topic);
    members.push(member);
    await member.session.call(joinConsumerGroup, member.place);
    return member;
  }

  get place() {
    const { streamId, topicId } = this.topic;
    return { streamId: numericId(streamId), topicId: numericId(topicId), groupId: numericId(NUMBER) };
  }

  partition(id: number): RawPartition {
    return this.topic.partitions[id]!.by(this.session);
  }

  async assignment(): Promise<{ readonly generation: bigint; readonly partitions: readonly number[] }> {
    const assignment = await this.session.call(syncConsumerGroup, this.place);
    if (assignment === null) throw new Error("not a member");
    return assignment;
  }

  async partitions(): Promise<readonly number[]> {
    return (await this.assignment()).partitions;
  }

  async leave(): Promise<void> {
    await this.session.call(leaveConsumerGroup, this.place);
  }

  /** Reads and commits what its partitions hold now. */
  async consume(): Promise<void> {
    for (const id of await this.partitions()) {
      const partition = this.partition(id);
      const answer = await partition.tryPoll(next, { consumer: group(NUMBER), autoCommit: true });
      // It may have to give the partition up at any moment.
      if (answer.kind !== "ok") expect(outcome(answer)).toMatch(/^status (5009|58)$/);
      else {
        const { messages: found } = partition.polled(answer);
        this.seen.push(...found.map(textOf));
      }
    }
  }
}

const counts = async (): Promise<number[]> => {
  const assigned = await Promise.all(members.map((member) => member.partitions()));
  return assigned.map(({ length }) => length);
};

it("three members share the partitions evenly, each partition with one of them, as they come and go", async () => {
  const topic = await topicWithGroup(7);
  const one = await Member.join(topic);
  expect(await one.partitions()).toEqual([0, 1, 2, 3, 4, 5, 6]);
  const generations = [(await one.assignment()).generation];
  const two = await Member.join(topic);
  await eventually("two share", async () => (await counts()).join() === "4,3");
  const three = await Member.join(topic);
  await eventually("three share", async () => (await counts()).sort().join() === "2,2,3");
  const all = (await Promise.all(members.map((member) => member.partitions()))).flat().sort();
  expect(all).toEqual([0, 1, 2, 3, 4, 5, 6]);
  generations.push((await three.assignment()).generation);
  // Joining again changes nothing.
  await two.session.call(joinConsumerGroup, two.place);
  expect((await two.assignment()).generation).toBe(generations[1]);
  await two.leave();
  expect(await two.session.try(leaveConsumerGroup, two.place)).toBe("result 5006");
  expect(await two.session.call(syncConsumerGroup, two.place)).toBeNull();
  expect((await Promise.all([one.partitions(), three.partitions()])).flat().sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect((await one.assignment()).generation).toBeGreaterThan(generations[1]!);
  // A connection that ends leaves no group; a session that ends leaves all of them.
  await three.session.link.end();
  expect(await one.partitions()).toHaveLength(4);
  await three.session.bind(await RawLink.connect(server.port));
  await one.session.call(logoutUser, {});
  expect((await admin.call(getConsumerGroup, three.place))?.members).toHaveLength(1);
  expect(await three.partitions()).toEqual([0, 1, 2, 3, 4, 5, 6]);
});

it("every message reaches one member, through joins, leaves and ends of sessions", { timeout: 60_000 }, async () => {
  const PARTITIONS = 6;
  const MESSAGES = 600;
  const topic = await topicWithGroup(PARTITIONS);
  const producing = (async (): Promise<void> => {
    for (let number = 0; number < MESSAGES; number++) {
      await topic.partitions[number % PARTITIONS]!.send([message(`message ${number}`)]);
    }
  })();
  const seen: string[] = [];
  const first = await Member.join(topic);
  const crew: Member[] = [first];
  for (let round = 0; round < 12; round++) {
    if (round % 3 === 0) crew.push(await Member.join(topic));
    if (round % 4 === 3) {
      const leaver = crew.splice(1, 1)[0]!;
      seen.push(...leaver.seen);
      if (round % 8 === 3) await leaver.leave();
      else await leaver.session.call(logoutUser, {});
    }
    for (const member of crew) await member.consume();
    await sleep(20);
  }
  await producing;
  const total = (): number => seen.length + crew.reduce((sum, member) => sum + member.seen.length, 0);
  await eventually(
    "everything is read",
    async () => {
      for (const member of crew) await member.consume();
      return total() >= MESSAGES;
    },
    20_000,
  );
  const everything = [...seen, ...crew.flatMap((member) => member.seen)];
  expect(everything).toHaveLength(MESSAGES);
  expect(new Set(everything).size).toBe(MESSAGES);
});

it("a partition that was read and not committed waits for its commit before it changes hands", async () => {
  const topic = await topicWithGroup(2);
  const source = await Member.join(topic);
  const held = source.partition(1);
  await held.send(messages(5));
  const polled = await held.poll(next, { consumer: group(NUMBER), count: 3 });
  expect(polled.messages).toHaveLength(3);
  const target = await Member.join(topic);
  // The source may read it no more, the target not yet; the source may still commit.
  expect(await source.partitions()).toEqual([0]);
  expect(await target.partitions()).toEqual([]);
  expect(outcome(await held.tryPoll(next, { consumer: group(NUMBER) }))).toBe("status 5009");
  expect(outcome(await target.partition(1).tryPoll(next, { consumer: group(NUMBER) }))).toBe("status 5009");
  const { ownerGeneration } = polled.context;
  await held.store(2, group(NUMBER), { ownerGeneration });
  await eventually("the target has it", async () => (await target.partitions()).join() === "1");
  const taken = await target.partition(1).poll(next, { consumer: group(NUMBER) });
  expect(taken.messages.map(({ offset }) => offset)).toEqual([3, 4]);
  expect(taken.context.ownerGeneration).toBeGreaterThan(ownerGeneration);
});

it("a partition that is never committed changes hands when its time is over, and its late commit is refused", async () => {
  const topic = await topicWithGroup(2);
  const source = await Member.join(topic);
  const held = source.partition(1);
  await held.send(messages(5));
  const { context } = await held.poll(next, { consumer: group(NUMBER), count: 3 });
  const target = await Member.join(topic);
  await sleep(200);
  expect(await target.partitions()).toEqual([]);
  await eventually("the target has it", async () => (await target.partitions()).join() === "1", 3 * REBALANCING_MILLIS);
  // From where the group stands: nothing was committed.
  const taken = await target.partition(1).poll(next, { consumer: group(NUMBER), autoCommit: true });
  expect(taken.messages.map(({ offset }) => offset)).toEqual([0, 1, 2, 3, 4]);
  for (const ownerGeneration of [context.ownerGeneration, 0n, taken.context.ownerGeneration]) {
    expect(outcome(await held.tryStore(1, group(NUMBER), { ownerGeneration }))).toBe("status 5009");
  }
  expect((await target.partition(1).stored(group(NUMBER)))?.storedOffset).toBe(4n);
});

it("offsets belong to the group: the next member goes on where the last one committed, whoever commits late", async () => {
  const topic = await topicWithGroup(1);
  const a = await Member.join(topic);
  const ofA = a.partition(0);
  await ofA.send(messages(10));
  const read = await ofA.poll(next, { consumer: group(NUMBER), count: 5 });
  const { ownerGeneration } = read.context;
  await ofA.store(5, group(NUMBER), { ownerGeneration });
  await a.leave();
  const b = await Member.join(topic);
  const ofB = b.partition(0);
  const goesOn = await ofB.poll(next, { consumer: group(NUMBER) });
  expect(goesOn.messages.map(({ offset }) => offset)).toEqual([6, 7, 8, 9]);
  await ofB.store(9, group(NUMBER), { ownerGeneration: goesOn.context.ownerGeneration });
  expect(outcome(await ofA.tryStore(1, group(NUMBER), { ownerGeneration }))).toBe("status 5009");
  expect(outcome(await ofA.tryStore(1, group(NUMBER)))).toBe("status 5009");
  expect((await ofB.stored(group(NUMBER)))?.storedOffset).toBe(9n);
  // The same member again, under a new generation: what it captured before counts no more.
  await b.leave();
  const again = await Member.join(topic);
  expect(await again.partitions()).toEqual([0]);
  const stale = { ownerGeneration: goesOn.context.ownerGeneration };
  expect(outcome(await again.partition(0).tryStore(2, group(NUMBER), stale))).toBe("status 5009");
});

it("a fetch fences each of its partitions by itself", async () => {
  const topic = await topicWithGroup(2);
  const one = await Member.join(topic);
  for (const partition of topic.partitions) await partition.send(messages(2));
  const two = await Member.join(topic);
  await eventually("they share", async () => (await counts()).join() === "1,1");
  const [own] = await one.partitions();
  const targets = topic.partitions.map(({ partitionId, incarnation }) => ({
    partitionId,
    strategy: next,
    maxBytes: 10_000,
    incarnation,
    ownerGeneration: 0n,
  }));
  const { streamId, topicId } = one.place;
  const request = { consumer: group(NUMBER), streamId, topicId, waitUs: 0n, requestTimeoutUs: 5_000_000n, minCount: 1 };
  const reply = await one.session.call(fetchMessages, {
    ...request,
    count: 10,
    maxBytes: 20_000,
    autoCommit: true,
    targets,
  });
  const facts = reply.sections.map(({ partitionId, status, messagesCount }) => [partitionId, status, messagesCount]);
  expect(facts).toEqual([0, 1].map((id) => (id === own ? [id, 0, 2] : [id, 5009, 0])));
  expect(await two.partition(1 - own!).stored(group(NUMBER))).toBeNull();
});

it("a change of the number of partitions is shared out, and a deleted group is gone with its offsets", async () => {
  const topic = await topicWithGroup(2);
  const one = await Member.join(topic);
  const two = await Member.join(topic);
  await eventually("they share", async () => (await counts()).join() === "1,1");
  const { streamId, topicId } = one.place;
  await admin.call(createPartitions, { streamId, topicId, partitionsCount: 3 });
  expect((await Promise.all([one.partitions(), two.partitions()])).flat().sort()).toEqual([0, 1, 2, 3, 4]);
  await admin.call(deletePartitions, { streamId, topicId, partitionsCount: 4 });
  expect((await Promise.all([one.partitions(), two.partitions()])).flat()).toEqual([0]);
  const owner = (await one.partitions()).length > 0 ? one : two;
  await topic.partitions[0]!.send(messages(3));
  const polled = await owner.partition(0).poll(next, { consumer: group(NUMBER), autoCommit: true });
  expect(polled.messages).toHaveLength(3);
  await admin.call(deleteConsumerGroup, one.place);
  expect(outcome(await owner.partition(0).tryPoll(next, { consumer: group(NUMBER) }))).toBe("status 5000");
  const made = await admin.call(createConsumerGroup, { streamId, topicId, name: "group" });
  expect(made.group.id).toBe(1);
  await one.session.call(joinConsumerGroup, { streamId, topicId, groupId: numericId(1) });
  expect(await one.partition(0).stored(group(1))).toBeNull();
  expect((await one.partition(0).poll(next, { consumer: group(1) })).messages).toHaveLength(3);
});
