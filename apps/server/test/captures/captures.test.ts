import {
  createPersonalAccessToken,
  createStream,
  createTopic,
  createUser,
  deleteTopic,
  namedId,
  numericId,
} from "@iggy/protocol";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import { eventually, first, freshName, outcome, RawLink, RawPartition, RawSession } from "../raw-client/index.js";
import { type CapturedCall, capturedCalls, requestsOf } from "./captures.js";
import { Replay } from "./replay.js";

let server: RunningServer;
let admin: RawSession;
let link: RawLink;
let replay: Replay;

/** The captured frames name user 7, stream 1 and topic 1: what is made before takes the lower ids. */
const USERS_BEFORE = 6;

beforeAll(async () => {
  server = await startServer();
  admin = await RawSession.open(server.port);
  for (let i = 0; i < USERS_BEFORE; i++) {
    const user = { username: freshName("user"), password: "s3cret", status: 1, permissions: null, options: [] };
    await admin.call(createUser, user);
  }
  await admin.call(createStream, { name: "before", options: [] });
  const { token } = await admin.call(createPersonalAccessToken, { name: "replay", expiry: 0n });
  link = await RawLink.connect(server.port);
  replay = new Replay(link, token);
});
afterAll(async () => {
  await link.end();
  await admin.close();
  await server.close();
});

/** What has to be in place before a call so that its ids mean the same here as in the capture. */
const preparations: Readonly<Record<string, () => Promise<unknown>>> = {
  create_topic_defaults: () => {
    const request = { streamId: numericId(1), partitionsCount: 1, name: "before", options: [] };
    return admin.call(createTopic, request);
  },
  // The capture goes on with a topic of three partitions under the same id.
  create_topic_rich: async () => {
    const streamId = numericId(1);
    await admin.call(deleteTopic, { streamId, topicId: namedId("events") });
    await admin.call(createTopic, { streamId, partitionsCount: 3, name: "events", options: [] });
    // The partition of the deleted topic had the same place: it goes first.
    const partition = await RawPartition.of(admin, streamId, numericId(1));
    await eventually("the partition is ready", async () => outcome(await partition.tryPoll(first)) === "ok");
  },
};

/** What this server refuses where the capture's stand-in checked nothing: three replicas on one node. */
const refusals: Readonly<Record<string, string>> = { create_topic_rich: "status 2018" };

/** The client asks for these at once and cancels what still waits. */
const TOGETHER = "reader_three_partitions";

/** An error that the client reports without a frame. */
const isLocal = ({ frames }: CapturedCall): boolean => !frames.some(({ event }) => event === "request");

it.each(capturedCalls.filter((call) => !isLocal(call)).map((call) => [call.call, call] as const))(
  "%s",
  async (name, call) => {
    await preparations[name]?.();
    const requests = requestsOf(call);
    if (name === TOGETHER) {
      const outcomes = (await replay.runTogether(requests)).map(outcome);
      expect(outcomes.slice(0, 3)).toEqual(["ok", "ok", "ok"]);
      for (const each of outcomes) expect(each).toMatch(/^(ok|status 58)$/);
      return;
    }
    const answers = await replay.run(requests);
    expect(answers.map(outcome)).toEqual(answers.map(() => refusals[name] ?? "ok"));
    // A frame that the capture's stand-in refused once is repeated there; here its repetition finds it stored.
    const last = answers.at(-1);
    const repeated = requests.findIndex(({ header }) => Buffer.compare(header, requests.at(-1)!.header) === 0);
    expect(answers[repeated]).toEqual(last);
  },
);

it("the client keeps its connection throughout, and nothing unasked was sent", () => {
  expect(link.isOpen).toBe(true);
  expect(link.unclaimed).toEqual([]);
});
