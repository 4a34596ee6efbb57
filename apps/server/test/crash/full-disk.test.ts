import { execFileSync } from "node:child_process";
import { appendFile, mkdtemp, rm, statfs, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStream, createTopic, ErrorCode, getStreams, numericId, ping } from "@iggy/protocol";
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  consumer,
  eventually,
  freshName,
  freshTopic,
  message,
  outcome,
  persisted,
  RawLink,
  type RawPartition,
  RawSession,
  segmentSize,
  ServerProcess,
  textOf,
} from "../raw-client/index.js";

const MIB = 1024 * 1024;
const DISK_BYTES = 24 * MIB;
/** What is left at first, for the writes that find the end of the disk in their middle. */
const LEFT_BYTES = 64 * 1024;

/** A small file system in memory, where this process may mount one. */
function mount(path: string): boolean {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${DISK_BYTES}`, "tmpfs", path], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

let disk: string;
let isMounted: boolean;
let server: ServerProcess;

beforeEach(async () => {
  disk = await mkdtemp(join(tmpdir(), "iggy-full-disk-"));
  isMounted = mount(disk);
});
afterEach(async () => {
  if (isMounted) {
    await server.kill();
    execFileSync("umount", [disk]);
  }
  await rm(disk, { recursive: true });
});

const ballast = (): string => join(disk, "ballast");

/** Somebody else fills the disk, but for a part. */
async function fillUp(leftBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(disk);
  try {
    await appendFile(ballast(), Buffer.alloc(Math.max(0, bavail * bsize - leftBytes), 1));
  } catch (error) {
    // The server took some of it meanwhile, so it is as full as it can be.
    if (!(error instanceof Error && error.message.includes("ENOSPC"))) throw error;
  }
}

const start = async (): Promise<void> => {
  server = await ServerProcess.start({ dataDirectory: join(disk, "data") });
};

const body = (number: number): string => `${number} ${"x".repeat(20_000)}`;

/** Sends until the disk has no room; gives what refused the first one. */
async function sendUntilRefused(partition: RawPartition, texts: string[]): Promise<string> {
  for (;;) {
    const text = body(texts.length);
    const answer = await partition.trySend([message(text)]);
    if (answer.kind !== "ok") return outcome(answer);
    texts.push(text);
  }
}

it("a full disk refuses writes for as long as it is full, and nothing else", { timeout: 180_000 }, async (context) => {
  context.skip(!isMounted, "this process may not mount a file system");
  await start();
  const session = await RawSession.open(server.port);
  const kept = await freshTopic(session, { partitions: 2, options: [...persisted, segmentSize(MIB)] });
  const plain = await freshTopic(session, { partitions: 1, options: [segmentSize(MIB)] });
  const partitions = [...kept.partitions, ...plain.partitions];
  const texts = partitions.map((): string[] => []);
  const retryable = `status ${ErrorCode.TransientNotAccepted}`;
  for (const [i, partition] of partitions.entries()) {
    texts[i]?.push(body(0));
    await partition.send([message(body(0))]);
  }
  const expectAll = async (): Promise<void> => {
    for (const [i, partition] of partitions.entries()) {
      const stored = await partition.readAll();
      expect(stored.map(({ offset }) => offset)).toEqual(stored.map((_, index) => index));
      expect(stored.map(textOf)).toEqual(texts[i]);
    }
  };

  for (let cycle = 0; cycle < 3; cycle++) {
    await fillUp(LEFT_BYTES);
    for (const [i, partition] of partitions.entries()) {
      expect(await sendUntilRefused(partition, texts[i] ?? []), `partition ${i}`).toBe(retryable);
    }
    await expectAll();
    expect(await session.try(ping, {})).toBe("ok");
    expect((await session.call(getStreams, {})).streams.length).toBeGreaterThan(1);
    await fillUp(0);
    // The last page of the metadata journal may still take a few.
    const made = (): Promise<string> => session.try(createStream, { name: freshName("stream"), options: [] });
    await eventually("metadata is refused too", async () => {
      const outcome = await made();
      if (outcome !== "ok") expect(outcome).toBe(retryable);
      return outcome !== "ok";
    });
    const second = await RawSession.open(server.port).catch((error: unknown) => error);
    if (second instanceof RawSession) await second.close();

    await unlink(ballast());
    for (const [i, partition] of partitions.entries()) {
      const text = body(texts[i]?.length ?? 0);
      await eventually("writes are taken again", async () => {
        const answer = await partition.trySend([message(text)]);
        if (answer.kind !== "ok") expect(outcome(answer)).toBe(retryable);
        return answer.kind === "ok";
      });
      texts[i]?.push(text);
      await partition.store(cycle, consumer(cycle + 1));
    }
    await expectAll();
    await session.call(createStream, { name: `made after ${cycle}`, options: [] });
    await session.call(createTopic, { streamId: numericId(0), name: `t ${cycle}`, partitionsCount: 1, options: [] });

    // Once killed while the disk is full, once stopped, once going on.
    if (cycle === 2) continue;
    await fillUp(0);
    if (cycle === 0) await server.kill();
    else await server.stop();
    await unlink(ballast());
    await start();
    expect(outcome(await session.bind(await RawLink.connect(server.port)))).toBe("ok");
    await expectAll();
    for (const partition of partitions) {
      for (let id = 1; id <= cycle + 1; id++)
        expect((await partition.stored(consumer(id)))?.storedOffset).toBe(BigInt(id - 1));
    }
  }
  expect(server.stdout).not.toContain("fenced");
});
