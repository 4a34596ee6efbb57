import { once } from "node:events";
import type { Worker } from "node:worker_threads";
import { loadAddon } from "@iggy/uring";
import { expect, it } from "vitest";
import { Mesh } from "../../src/shards/lanes/mesh.js";
import { createSeats, portsOf, type Seat } from "../../src/shards/lanes/seat.js";
import { REFERENCE_BYTES_MAX } from "../../src/shards/lanes/transfer.js";
import { startThread } from "../../src/shards/thread.js";

const RECORDS = Number(process.env["IGGY_TEST_LANE_RECORDS"] ?? 300_000);

function startEcho(seat: Seat, isNative: boolean): Worker {
  const entry = new URL("./mesh-worker.ts", import.meta.url);
  return startThread(entry, { name: "echo", workerData: { seat, isNative }, transferList: portsOf(seat) });
}

const { addon } = loadAddon();

it.each(addon === undefined ? [false] : [false, true])(
  "carries records between threads without losing, repeating or reordering one, and wakes who sleeps (natively: %s)",
  { timeout: 120_000 },
  async (isNative) => {
    const seats = createSeats(3, { main: 512, reply: 64 });
    const [own, ...others] = seats;
    if (own === undefined) throw new Error("no seat");
    const workers = others.map((seat) => startEcho(seat, isNative));
    const mesh = new Mesh(own, isNative ? { addon } : {});
    const sent = [0, 0, 0];
    const received = [0, 0, 0];
    let isDone = (): void => undefined;
    const done = new Promise<void>((resolve) => (isDone = resolve));
    const lengthOf = (id: number): number => (id % 1000 === 0 ? 100_000 : id % 50 === 0 ? 3000 : id % 200);
    const bytes = new Uint8Array(100_000);
    /** As much as the lanes take; the rest goes with the answers. */
    const fill = (): void => {
      for (const shard of mesh.others) {
        const outbox = mesh.main(shard);
        for (let id = sent[shard] ?? 0; id < RECORDS && id - (received[shard] ?? 0) < 400; id++) {
          const record = outbox.offer(4 + REFERENCE_BYTES_MAX);
          if (record === undefined) break;
          record.u32(id);
          const body = bytes.subarray(0, lengthOf(id));
          body[0] = id % 251;
          outbox.body(record, [body]);
          outbox.commit();
          sent[shard] = id + 1;
        }
      }
    };
    mesh.start({
      main: () => undefined,
      reply: (source, record, importer) => {
        const id = record.u32();
        const { pieces } = importer.receive(record);
        const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
        if (id !== received[source] || length !== lengthOf(id)) throw new Error(`record ${id} of ${length} bytes`);
        if (length > 0 && pieces[0]?.[0] !== id % 251) throw new Error(`record ${id} holds other bytes`);
        received[source] = id + 1;
        if (received[1] === RECORDS && received[2] === RECORDS) isDone();
        else if (id % 64 === 0) setImmediate(fill);
      },
    });
    const refill = setInterval(fill, 5);
    await done;
    clearInterval(refill);
    expect(received).toEqual([0, RECORDS, RECORDS]);
    for (const worker of workers) {
      worker.postMessage("stop");
      await once(worker, "exit");
    }
    mesh.close();
  },
);
