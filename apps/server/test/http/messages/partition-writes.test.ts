import type { Account } from "@iggy/engine";
import { ErrorCode, IggyError, sendMessages } from "@iggy/protocol";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Caller, CommandRunner, Started } from "../../../src/http/commands/index.js";
import { PartitionWrites } from "../../../src/http/messages/partition-writes.js";
import { WriteLanes } from "../../../src/http/messages/write-lanes.js";

const WAIT_MILLIS = 10_000;

/** Writes that are handed on, with what settles each. */
class Planes implements Pick<CommandRunner, "start"> {
  readonly taken: { resolve(value: never): void; reject(error: Error): void }[] = [];
  isAnswered = false;

  start<Res>(): Promise<Started<Res>> {
    const response = new Promise<never>((resolve, reject) => {
      this.taken.push({ resolve, reject });
    });
    return Promise.resolve({ isAnswered: this.isAnswered, response });
  }
}

const caller = {
  account: {} as Account,
  credential: { key: "jwt:1", expiresAtMicros: undefined },
  reader: 1n,
  peerAddress: "127.0.0.1:1",
} satisfies Caller;
const write = {
  caller,
  address: { streamId: 1, topicId: 2, partitionId: 0 },
  command: sendMessages,
  request: {
    streamId: { kind: "numeric", value: 1 },
    topicId: { kind: "numeric", value: 2 },
    partitioning: { kind: "balanced" },
    messagesCount: 1,
    batch: new Uint8Array(0),
  },
  fences: {},
  sizeBytes: 1,
  timeoutCode: "produce_timeout",
  signal: new AbortController().signal,
} as const;
const done = { confirmations: [] } as never;

describe("a write to a partition", () => {
  let planes: Planes;
  let lanes: WriteLanes;
  let writes: PartitionWrites;

  beforeEach(() => {
    vi.useFakeTimers();
    planes = new Planes();
    lanes = new WriteLanes();
    writes = new PartitionWrites(planes, lanes, WAIT_MILLIS);
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const settled = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

  it("is handed on only when the one before it is answered", async () => {
    const first = writes.commit(write);
    const second = writes.commit(write);
    await settled();
    expect(planes.taken.length).toBe(1);
    planes.taken[0]?.resolve(done);
    await first;
    await settled();
    expect(planes.taken.length).toBe(2);
    planes.taken[1]?.resolve(done);
    await second;
    expect(lanes.inFlight).toBe(0);
  });

  it("without an answer is 504 after the wait, since it may still commit; then the next one goes", async () => {
    const first = expect(writes.commit(write)).rejects.toMatchObject({ status: 504, code: "produce_timeout" });
    await vi.advanceTimersByTimeAsync(1);
    const second = writes.commit(write);
    await vi.advanceTimersByTimeAsync(WAIT_MILLIS - 2);
    expect(planes.taken.length).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    await first;
    expect(planes.taken.length).toBe(2);
    planes.taken[1]?.resolve(done);
    await second;
  });

  it("that is answered after its 504 troubles nobody", async () => {
    const late = expect(writes.commit(write)).rejects.toMatchObject({ status: 504 });
    await vi.advanceTimersByTimeAsync(WAIT_MILLIS);
    await late;
    planes.taken[0]?.reject(new IggyError(ErrorCode.TransientNotCommitted));
    await settled();
    expect(lanes.inFlight).toBe(0);
  });

  it.each([ErrorCode.TransientNotAccepted, ErrorCode.TransientNotCommitted, ErrorCode.LifecycleBusy])(
    "that is refused with %d keeps its code",
    async (code) => {
      const refused = expect(writes.commit(write)).rejects.toMatchObject({ code });
      await settled();
      planes.taken[0]?.reject(new IggyError(code));
      await refused;
      expect(lanes.inFlight).toBe(0);
    },
  );

  it("that nobody waits for resolves when it is handed on, and the next one waits for its end", async () => {
    await writes.handOn(write);
    const second = writes.handOn(write);
    await settled();
    expect(planes.taken.length).toBe(1);
    planes.taken[0]?.reject(new IggyError(ErrorCode.TransientNotCommitted));
    await second;
    expect(planes.taken.length).toBe(2);
  });

  it("that nobody waits for still reports a refusal that is known at once", async () => {
    planes.isAnswered = true;
    const refused = expect(writes.handOn(write)).rejects.toMatchObject({ code: ErrorCode.HistoryUnavailable });
    await settled();
    planes.taken[0]?.reject(new IggyError(ErrorCode.HistoryUnavailable));
    await refused;
  });

  it("whose session can't be opened leaves its partition free", async () => {
    const refusing = { start: () => Promise.reject(new IggyError(ErrorCode.TransientNotAccepted)) };
    const refused = new PartitionWrites(refusing, lanes, WAIT_MILLIS);
    await expect(refused.commit(write)).rejects.toMatchObject({ code: 58 });
    expect(lanes.inFlight).toBe(0);
  });
});
