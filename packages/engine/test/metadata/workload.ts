import {
  changePassword,
  createConsumerGroup,
  createPartitions,
  createPersonalAccessToken,
  createStream,
  createTopic,
  createUser,
  deleteConsumerGroup,
  deletePartitions,
  deletePersonalAccessToken,
  deleteSegments,
  deleteStream,
  deleteTopic,
  deleteUser,
  joinConsumerGroup,
  leaveConsumerGroup,
  logoutUser,
  noPermissions,
  optionString,
  OptionScope,
  optionU64,
  type Permissions,
  updatePermissions,
  updateResource,
} from "@iggy/protocol";
import fc from "fast-check";
import { id, type TestClient, TestNode } from "./node.js";

/** One step of a random history. Small numbers pick streams, topics and so on, so that steps meet. */
export interface Step {
  readonly action: keyof typeof actions;
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly inFlight: readonly number[];
}

/** Where the state machine has most to get wrong. */
const frequent: readonly Step["action"][] = [
  "join",
  "join",
  "join",
  "joinAgain",
  "handOver",
  "leave",
  "createPartitions",
  "deletePartitions",
];

export const steps = (maxLength: number): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.record({
      action: fc.constantFrom(...(Object.keys(actions) as Step["action"][]), ...frequent),
      a: fc.nat(2),
      b: fc.nat(2),
      c: fc.nat(2),
      inFlight: fc.array(fc.nat(6), { maxLength: 5 }),
    }),
    { maxLength, size: "max" },
  );

/** A node with some resources, and clients of root and of other users. */
export class Workload {
  readonly node: TestNode;
  readonly root: TestClient;
  clients: TestClient[];

  private constructor(node: TestNode) {
    this.node = node;
    this.root = node.signIn();
    this.clients = [node.signIn(), node.signIn(), node.signIn()];
  }

  static async start(config: ConstructorParameters<typeof TestNode>[0] = {}): Promise<Workload> {
    const workload = new Workload(new TestNode(config));
    const { node, root } = workload;
    for (const streamId of [0, 1]) {
      await node.stream(root, `s${String(streamId)}`);
      for (const topicId of [0, 1]) {
        await node.topic(root, streamId, `t${String(topicId)}`, 3);
        await node.do(root, createConsumerGroup, { ...topic(streamId, topicId), name: "g0" });
      }
    }
    for (const username of ["user0", "user1"]) {
      await node.do(root, createUser, { username, password: "password", status: 1, permissions: null, options: [] });
    }
    return workload;
  }

  async run(step: Step): Promise<void> {
    this.node.inFlight = ({ partitionId }) => step.inFlight.includes(partitionId);
    await actions[step.action](this, step);
  }

  /** A client whose session is live: one that was signed out signs in again. */
  client(index: number): TestClient {
    const client = this.clients[index];
    if (client !== undefined && this.node.machine.session(client.client) !== undefined) return client;
    return (this.clients[index] = this.node.signIn());
  }
}

const stream = (a: number) => ({ streamId: id(`s${String(a % 2)}`) });
const topic = (a: number, b: number) => ({ ...stream(a), topicId: id(`t${String(b)}`) });
const group = (a: number, b: number, c: number) => ({ ...topic(a, b), groupId: id(`g${String(c)}`) });
const user = (a: number) => ({ userId: id(`user${String(a % 2)}`) });

const grants = (streamId: number, topicId: number): Permissions => ({
  ...noPermissions,
  streams: [
    {
      streamId,
      manageStream: false,
      readStream: true,
      manageTopics: false,
      readTopics: false,
      pollMessages: false,
      sendMessages: false,
      topics: [{ topicId, manageTopic: true, readTopic: false, pollMessages: false, sendMessages: false }],
    },
  ],
});

const actions = {
  createStream: ({ node, root }: Workload, { a }: Step) =>
    node.send(root, createStream, { name: `s${String(a)}`, options: [] }),
  renameStream: ({ node, root }: Workload, { a, b, c }: Step) =>
    node.send(root, updateResource, {
      target: { scope: OptionScope.stream, ...stream(a) },
      reset: [],
      options: [optionString("name", `s${String(c === 0 ? b : a % 2)}`)],
    }),
  deleteStream: ({ node, root }: Workload, { a, b, c }: Step) =>
    // Rarely, as it takes so much with it.
    b + c === 0 ? node.send(root, deleteStream, stream(a)) : Promise.resolve(),
  createTopic: ({ node, root }: Workload, { a, b, c }: Step) =>
    node.send(root, createTopic, { ...stream(a), name: `t${String(b)}`, partitionsCount: c * 2, options: [] }),
  updateTopic: ({ node, root }: Workload, { a, b, c }: Step) =>
    node.send(root, updateResource, {
      target: { scope: OptionScope.topic, ...topic(a, b) },
      reset: c === 0 ? ["message_expiry"] : [],
      options: c === 0 ? [] : [optionU64("message_expiry", BigInt(c)), optionString("name", `t${String(c)}`)],
    }),
  deleteTopic: ({ node, root }: Workload, { a, b, c }: Step) =>
    b + c === 0 ? node.send(root, deleteTopic, topic(a, b)) : Promise.resolve(),
  createPartitions: ({ node, root }: Workload, { a, b, c }: Step) =>
    node.send(root, createPartitions, { ...topic(a, b), partitionsCount: c + 1 }),
  deletePartitions: ({ node, root }: Workload, { a, b, c }: Step) =>
    node.send(root, deletePartitions, { ...topic(a, b), partitionsCount: c + 1 }),
  deleteSegments: ({ node, root }: Workload, { a, b, c }: Step) => {
    node.deletableThrough = () => c * 10;
    return node.send(root, deleteSegments, { ...topic(a, b), partitionId: c, segmentsCount: 1 });
  },
  createGroup: ({ node, root }: Workload, { a, b, c }: Step) =>
    node.send(root, createConsumerGroup, { ...topic(a, b), name: `g${String(c)}` }),
  deleteGroup: ({ node, root }: Workload, { a, b, c }: Step) =>
    c === 0 ? node.send(root, deleteConsumerGroup, group(a, b, c)) : Promise.resolve(),
  join: (workload: Workload, { a }: Step) => workload.node.send(workload.client(a), joinConsumerGroup, group(0, 0, 0)),
  joinAgain: (workload: Workload, { a, b, c }: Step) =>
    workload.node.send(workload.client(c), joinConsumerGroup, group(a, b, 0)),
  leave: (workload: Workload, { a, b }: Step) =>
    workload.node.send(workload.client(a), leaveConsumerGroup, group(b, b, 0)),
  handOver: ({ node }: Workload, { a }: Step) => {
    const due = node.machine.dueRevocations({ isInFlight: () => false }, node.nowMicros, 1, 1 + a);
    for (const operation of due) node.applyServer(operation);
    return Promise.resolve();
  },
  signIn: (workload: Workload, { a, b }: Step) => {
    const { node } = workload;
    const userId = userIdOf(workload, b);
    workload.clients[a] = node.signIn(userId);
    return Promise.resolve();
  },
  logOut: (workload: Workload, { a }: Step) => workload.node.send(workload.client(a), logoutUser, {}),
  expire: (workload: Workload, { a }: Step) => {
    const session = workload.node.machine.session(workload.client(a).client);
    if (session !== undefined) workload.node.applyServer(workload.node.machine.sessionExpiry(session));
    return Promise.resolve();
  },
  finalize: ({ node }: Workload, { a }: Step) => {
    for (const operation of node.machine.finalizations(() => true, 1 + a)) node.applyServer(operation);
    return Promise.resolve();
  },
  createUser: ({ node, root }: Workload, { a, b, c }: Step) =>
    node.send(root, createUser, {
      username: `user${String(a % 2)}`,
      password: "password",
      status: 1,
      permissions: c === 0 ? null : grants(b, 0),
      options: [],
    }),
  patchUser: ({ node, root }: Workload, { a, b, c }: Step) =>
    node.send(root, updateResource, {
      target: { scope: OptionScope.user, ...user(a) },
      reset: [],
      options:
        c === 0
          ? [optionString("username", `user${String(b)}`)]
          : [optionString("status", c === 1 ? "active" : "inactive")],
    }),
  permissions: ({ node, root }: Workload, { a, b, c }: Step) =>
    node.send(root, updatePermissions, { ...user(a), permissions: c === 0 ? null : grants(b, c) }),
  password: ({ node, root }: Workload, { a, b }: Step) =>
    node.send(root, changePassword, {
      ...user(a),
      currentPassword: b === 0 ? "wrong" : "password",
      newPassword: "password",
    }),
  deleteUser: ({ node, root }: Workload, { a, b }: Step) =>
    b === 0 ? node.send(root, deleteUser, user(a)) : Promise.resolve(),
  createToken: (workload: Workload, { a, b, c }: Step) =>
    workload.node.send(workload.client(a), createPersonalAccessToken, {
      name: `token${String(b)}`,
      expiry: BigInt(c * 20),
    }),
  deleteToken: (workload: Workload, { a, b }: Step) =>
    workload.node.send(workload.client(a), deletePersonalAccessToken, { name: `token${String(b)}` }),
  cleanTokens: ({ node }: Workload) => {
    for (const operation of node.machine.expiredTokens(node.nowMicros)) node.applyServer(operation);
    return Promise.resolve();
  },
} satisfies Readonly<Record<string, (workload: Workload, step: Step) => Promise<unknown>>>;

function userIdOf({ node }: Workload, a: number): number {
  const found = node.findUser(`user${String(a)}`);
  return found?.status === 1 ? found.id : 0;
}
