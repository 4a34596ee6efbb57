import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStream, deleteStream, namedId, optionRaw } from "@iggy/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { serverKeyFingerprint } from "../../src/config/encryption-key.js";
import { Secret } from "../../src/config/index.js";
import {
  eventually,
  first,
  messages,
  outcome,
  type RawPartition,
  RawSession,
  type ServerProcess,
  textOf,
} from "../raw-client/index.js";
import {
  type EncryptionKeys,
  filesWith,
  newStream,
  newTopic,
  partitionOf,
  serverKey,
  shownKey,
  startServer,
} from "./estate.js";

const fingerprint = (byte: number): string => serverKeyFingerprint(new Secret(serverKey(byte)));
const fingerprints = (...bytes: readonly number[]): string => bytes.map(fingerprint).sort().join(",");
const ownKey = (byte: number) => optionRaw("encryption_key", new Uint8Array(32).fill(byte));

let dataDirectory: string;
let server: ServerProcess | undefined;
let session: RawSession;
beforeEach(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), "iggy-rotation-"));
});
afterEach(async () => {
  await session.close();
  await server?.kill();
  server = undefined;
  await rm(dataDirectory, { recursive: true });
});

/** Stops what runs, and starts on the same data with other keys. */
async function restart(keys: EncryptionKeys): Promise<ServerProcess> {
  if (server !== undefined) {
    await session.close();
    expect(await server.stop()).toBe(0);
  }
  const started = await startServer(dataDirectory, keys);
  server = started;
  session = await RawSession.open(started.port);
  return started;
}

const kekOf = async (stream: string): Promise<string | undefined> =>
  (await shownKey(session, stream))["kek_fingerprint"];
const shows = (stream: string, ...bytes: readonly number[]): Promise<void> =>
  eventually(`${stream} is wrapped as expected`, async () => (await kekOf(stream)) === fingerprints(...bytes));
const texts = async (partition: RawPartition): Promise<string[]> => (await partition.readAll()).map(textOf);

describe("which streams are encrypted", () => {
  it("without a server key: none, and a key of a client is refused with 4106", async () => {
    await restart({});
    expect(await session.try(createStream, { name: "own", options: [ownKey(9)] })).toBe("status 4106");
    await newStream(session, "plain");
    expect(await shownKey(session, "plain")).toEqual({ key_source: "none" });
    const partition = await newTopic(session, "plain");
    await partition.send(messages(3, "a marker of a plain stream"));
    // Plain streams lie in clear in the files, so that the search in them proves something elsewhere.
    expect(await server?.stop()).toBe(0);
    expect(await filesWith(dataDirectory, { marker: Buffer.from("a marker of a plain stream") })).not.toEqual([]);
    server = undefined;
  }, 60_000);

  it("with a server key that is not enabled: those that bring a key; enabled later, new ones", async () => {
    await restart({ key: serverKey(1) });
    await newStream(session, "plain");
    await newStream(session, "own", [ownKey(9)]);
    expect(await shownKey(session, "plain")).toEqual({ key_source: "none" });
    expect(await shownKey(session, "own")).toMatchObject({ key_source: "stream", kek_fingerprint: fingerprint(1) });
    await restart({ enabled: true, key: serverKey(1) });
    await newStream(session, "generated");
    expect(await shownKey(session, "generated")).toMatchObject({ key_source: "server" });
    // What was decided stays.
    expect(await shownKey(session, "plain")).toEqual({ key_source: "none" });
    const partition = await newTopic(session, "plain");
    await partition.send(messages(2));
    expect(await texts(partition)).toEqual(["message 0", "message 1"]);
  }, 60_000);
});

describe("a rotation of the server key", () => {
  it("takes three restarts, and messages of all times stay readable", async () => {
    await restart({ enabled: true, key: serverKey(1) });
    await newStream(session, "old", [ownKey(9)]);
    await (await newTopic(session, "old")).send(messages(2, "first key"));
    expect(await kekOf("old")).toBe(fingerprint(1));
    const { key_fingerprint: keyFingerprint } = await shownKey(session, "old");

    await restart({ enabled: true, key: serverKey(2), previous: [serverKey(1)] });
    await shows("old", 1, 2);
    await newStream(session, "new");
    expect(await kekOf("new")).toBe(fingerprints(1, 2));
    await (await partitionOf(session, "old")).send(messages(2, "both keys"));

    await restart({ enabled: true, key: serverKey(2), retired: [fingerprint(1)] });
    await shows("old", 2);
    await shows("new", 2);
    await (await partitionOf(session, "old")).send(messages(2, "second key"));

    await restart({ enabled: true, key: serverKey(2) });
    await newTopic(session, "new");
    expect(await shownKey(session, "old")).toEqual({
      key_source: "stream",
      key_fingerprint: keyFingerprint,
      kek_fingerprint: fingerprint(2),
    });
    const labels = ["first key", "both keys", "second key"];
    expect(await texts(await partitionOf(session, "old"))).toEqual(
      labels.flatMap((label) => [`${label} 0`, `${label} 1`]),
    );

    // The first key is of no use any more.
    await restart({ enabled: true, key: serverKey(1) });
    expect(outcome(await (await partitionOf(session, "old")).tryPoll(first))).toBe("status 72");
  }, 120_000);

  it("that a full set can not take is named in the log, until a key is retired", async () => {
    await restart({ enabled: true, key: serverKey(3), previous: [serverKey(1), serverKey(2)] });
    await newStream(session, "full");
    await (await newTopic(session, "full")).send(messages(1));
    expect(await kekOf("full")).toBe(fingerprints(1, 2, 3));

    const next = await restart({ enabled: true, key: serverKey(4), previous: [serverKey(3)] });
    await eventually("the log names the stream", () =>
      next.stdout.includes("the key of the stream full can not be wrapped under the current server key"),
    );
    expect(await kekOf("full")).toBe(fingerprints(1, 2, 3));
    expect(await texts(await partitionOf(session, "full"))).toEqual(["message 0"]);

    await restart({ enabled: true, key: serverKey(4), previous: [serverKey(3)], retired: [fingerprint(1)] });
    await shows("full", 2, 3, 4);
    expect(await texts(await partitionOf(session, "full"))).toEqual(["message 0"]);
  }, 120_000);
});

describe("a start without the right server key", () => {
  it("serves the plain streams, names the others in the log, and refuses them with 72 until the key is back", async () => {
    await restart({ key: serverKey(1) });
    await newStream(session, "plain");
    await newStream(session, "sealed", [ownKey(9)]);
    await (await newTopic(session, "plain")).send(messages(1, "plain"));
    const sealed = await newTopic(session, "sealed");
    await sealed.send(messages(1, "sealed"));
    await sealed.store(0);

    for (const keys of [{ key: serverKey(2) }, {}]) {
      const wrong = await restart(keys);
      expect(wrong.stdout).toContain("the stream sealed is not served");
      expect(wrong.stdout).toContain(fingerprint(1));
      expect(wrong.stdout).not.toContain("the stream plain is not served");
      const plain = await partitionOf(session, "plain");
      await plain.send(messages(1, "still"));
      expect((await texts(plain))[0]).toBe("plain 0");
      const refused = await partitionOf(session, "sealed");
      expect(outcome(await refused.tryPoll(first))).toBe("status 72");
      expect(outcome(await refused.tryPoll(first, { waitMillis: 5_000 }))).toBe("status 72");
      expect(outcome(await refused.trySend(messages(1, "lost")))).toBe("status 72");
      expect(outcome(await refused.tryStore(0))).toBe("status 72");
      // What it is does not need its key.
      expect(await shownKey(session, "sealed")).toMatchObject({
        key_source: "stream",
        kek_fingerprint: fingerprint(1),
      });
    }

    await restart({ key: serverKey(2), previous: [serverKey(1)] });
    await shows("sealed", 1, 2);
    const back = await partitionOf(session, "sealed");
    expect(await texts(back)).toEqual(["sealed 0"]);
    await back.send(messages(1, "again"));
    expect(await texts(back)).toEqual(["sealed 0", "again 0"]);
  }, 120_000);

  it("lets a stream that is not served be deleted", async () => {
    await restart({ key: serverKey(1) });
    await newStream(session, "sealed", [ownKey(9)]);
    await (await newTopic(session, "sealed")).send(messages(1));
    await restart({});
    expect(await session.try(deleteStream, { streamId: namedId("sealed") })).toBe("ok");
    await newStream(session, "sealed");
    const plain = await newTopic(session, "sealed");
    await plain.send(messages(1, "new"));
    expect(await texts(plain)).toEqual(["new 0"]);
  }, 60_000);
});
