import {
  cancelDeferredRequest,
  createStream,
  createTopic,
  decodeResponse,
  getPartitionRoute,
  getStats,
  getStreams,
  namedId,
  ping,
  pollMessagesDeferred,
  writeRequestHeader,
} from "@iggy/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "../../start-server.js";
import { consumer, eventually } from "../../raw-client/index.js";
import { portOf, RawQuic, said, type StreamEnd, title, without } from "./raw-quic.js";

const VIOLATION = 0x1004;

describe.skipIf(without)(`frames ${title}`, () => {
  let server: RunningServer;
  let port: number;
  beforeAll(async () => {
    server = await startServer({ config: { "sharding.deferred_poll_max_pending_per_session": 1 } });
    port = portOf(server.addresses.quic);
  });
  afterAll(() => server.close());

  it("are answered on their own stream, signed in or not", async () => {
    const link = await RawQuic.connect(port);
    expect(said(await link.ask(ping, {}))).toBe("ok");
    expect(said(await link.ask(getStats, {}))).toBe("status 40");
    const signedIn = await RawQuic.open(port);
    expect(said(await signedIn.ask(getStats, {}))).toBe("ok");
  });

  it("in a flood of 20,000 get an answer each", { timeout: 60_000 }, async () => {
    const link = await RawQuic.open(port);
    for (let round = 0; round < 10; round++) {
      const ends = await Promise.all(Array.from({ length: 2000 }, () => link.ask(ping, {})));
      expect(ends.every(({ kind }) => kind === "ok")).toBe(true);
    }
  });

  it.each([
    ["an empty stream", (frame: Uint8Array) => frame.subarray(0, 0)],
    ["less than a header", (frame: Uint8Array) => frame.subarray(0, 255)],
    ["a frame and more", (frame: Uint8Array) => Buffer.concat([frame, frame])],
    ["less than the frame says", (frame: Uint8Array) => frame.subarray(0, frame.length - 1)],
    [
      "a size below that of a header",
      (frame: Uint8Array) => {
        const broken = Buffer.from(frame);
        broken.writeUInt32LE(255, 48);
        return broken;
      },
    ],
  ])("with %s end the connection as a violation, and only it", async (_, spoil) => {
    const bystander = await RawQuic.open(port);
    const link = await RawQuic.open(port);
    const stream = link.write(spoil(link.frame(createStream, { name: "spoilt", options: [] })));
    expect(said(await link.end(stream))).toBe("closed");
    expect(await link.closed).toMatchObject({ detail: VIOLATION });
    expect(said(await bystander.ask(ping, {}))).toBe("ok");
  });

  it("are small until somebody signed in", async () => {
    const large = 100_000;
    const stranger = await RawQuic.connect(port);
    const frame = new Uint8Array(256 + large);
    writeRequestHeader(frame, 0, { bodyLength: large, client: 1n, operation: 2, commandCode: 1 });
    expect(said(await stranger.end(stranger.write(frame)))).toBe("closed");
    expect(await stranger.closed).toMatchObject({ detail: VIOLATION });
    const known = await RawQuic.open(port);
    expect(said(await known.end(known.write(frame)))).not.toBe("closed");
    expect(said(await known.ask(ping, {}))).toBe("ok");
  });

  it("that are no requests get no answer, and the connection stays", async () => {
    const link = await RawQuic.open(port);
    const frame = link.frame(ping, {});
    frame[60] = 3;
    expect(said(await link.end(link.write(frame)))).toBe("empty");
    expect(said(await link.ask(ping, {}))).toBe("ok");
  });

  it("of a wrong login are answered with an eviction, then the connection ends", async () => {
    const link = await RawQuic.connect(port);
    expect(said(await link.login("iggy", "not the password"))).toBe("eviction 9");
    expect(await link.closed).toMatchObject({ code: "QUIC_CLOSED" });
  });

  it("that write before a login are answered with an eviction", async () => {
    const link = await RawQuic.connect(port);
    const frame = link.frame(createStream, { name: "early", options: [] }, { session: 1 });
    expect(said(await link.end(link.write(frame)))).toBe("eviction 1");
    expect(await link.closed).toBeDefined();
  });

  describe("of polls that wait", () => {
    const [streamId, topicId] = [namedId("waits"), namedId("waits")];
    let link: RawQuic;
    let incarnation = 0n;
    beforeAll(async () => {
      link = await RawQuic.open(port);
      expect(said(await link.ask(createStream, { name: "waits", options: [] }))).toBe("ok");
      const topic = { streamId, partitionsCount: 1, name: "waits", options: [] };
      expect(said(await link.ask(createTopic, topic))).toBe("ok");
      const route = await link.ask(getPartitionRoute, { streamId, topicId, partitionId: 0 });
      if (route.kind === "ok") ({ incarnation } = decodeResponse(getPartitionRoute, route.payload));
    });

    it("hold up nobody, and end with a cancel on a further stream, which ends empty", async () => {
      expect(said(await waitAndCancel())).toBe("status 58");
    });

    it("end when their reply is stopped, which makes room for the next", async () => {
      const first = link.write(parked());
      // One may wait for each session: the second is refused while the first does.
      expect(said(await waitAndCancel())).toBe("status 90");
      link.client.abandon(first);
      await eventually("there is room for a poll that waits", async () => said(await waitAndCancel()) === "status 58");
    });

    /** How a poll ends that is cancelled while it waits. */
    async function waitAndCancel(): Promise<StreamEnd> {
      const frame = parked();
      let answer: StreamEnd | undefined;
      void link.end(link.write(frame)).then((end) => (answer = end));
      await eventually("the poll ends", async () => {
        expect(said(await link.ask(getStreams, {}))).toBe("ok");
        // One that comes before the poll waits is passed over.
        expect(said(await link.end(link.write(cancelOf(frame))))).toBe("empty");
        return answer !== undefined;
      });
      return answer ?? { kind: "closed" };
    }

    const parked = (): Uint8Array => {
      const poll = {
        consumer: consumer(1),
        streamId,
        topicId,
        partitionId: 0,
        strategy: { kind: "offset", value: 0n } as const,
        count: 1,
        autoCommit: false,
      };
      const request = { poll, waitUs: 20_000_000n, minCount: 1, maxBytes: 1_000_000, requestTimeoutUs: 30_000_000n };
      return link.frame(pollMessagesDeferred, request, { partitionIncarnation: incarnation });
    };
  });
});

function cancelOf(frame: Uint8Array): Uint8Array {
  const cancel = Buffer.from(frame.subarray(0, 256));
  cancel.writeUInt32LE(256, 48);
  cancel.writeUInt32LE(cancelDeferredRequest.code, 196);
  cancel.fill(0, 200, 256);
  return cancel;
}
