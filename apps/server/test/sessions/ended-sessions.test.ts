import { createStream, ErrorCode, logoutUser } from "@iggy/protocol";
import { expect, it } from "vitest";
import { startServer } from "../start-server.js";
import {
  atOffset,
  freshName,
  freshPartition,
  messages,
  outcome,
  RawLink,
  RawSession,
  sleep,
} from "../raw-client/index.js";

it("a send that waits for metadata is not written once its session has ended", async () => {
  await using server = await startServer();
  const [session, other] = [await RawSession.open(server.port), await RawSession.open(server.port)];
  const partition = await freshPartition(session);
  await partition.send(messages(1));
  const waiting = session.link;
  const request = session.nextRequest();
  // The sign-out is the next operation of metadata, the stream the one after it.
  const frontier = { request, minimumMetadataOp: session.watermark + 2 };
  const answer = waiting.answerTo(request);
  waiting.write(partition.sendFrame(messages(1), undefined, frontier));
  await session.bind(await RawLink.connect(server.port));
  expect(outcome(await session.send(logoutUser, new Uint8Array(0)))).toBe("ok");
  await sleep(20);
  await other.call(createStream, { name: freshName("stream"), options: [] });
  expect(outcome(await answer)).toBe(`status ${ErrorCode.StaleClient}`);
  expect(await partition.by(other).readAll()).toHaveLength(1);
});

it("reads that wait end with their session, and leave their places", async () => {
  await using server = await startServer({ config: { "sharding.deferred_poll_max_pending_per_session": 3 } });
  const [session, other] = [await RawSession.open(server.port), await RawSession.open(server.port)];
  const partition = await freshPartition(session);
  await partition.send(messages(1));
  const waiting = session.link;
  const reads = [1, 2, 3].map(() => {
    const request = session.nextRequest();
    waiting.write(partition.pollFrame(atOffset(5), { waitMillis: 20_000 }, { request }));
    return waiting.answerTo(request, 2_000);
  });
  await session.bind(await RawLink.connect(server.port));
  expect(outcome(await session.send(logoutUser, new Uint8Array(0)))).toBe("ok");
  expect((await Promise.all(reads)).map(outcome)).toEqual(Array(3).fill(`status ${ErrorCode.StaleClient}`));
  expect(await partition.by(other).readAll()).toHaveLength(1);
});
