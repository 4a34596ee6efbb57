import { Mesh } from "../src/shards/lanes/mesh.js";
import { createSeats, portsOf } from "../src/shards/lanes/seat.js";
import { REFERENCE_BYTES_MAX } from "../src/shards/lanes/transfer.js";
import { startThread } from "../src/shards/thread.js";

/**
 * Hand-over between two shards: the round trip of a lone record, and records a second in batches.
 *
 *   node --conditions=@iggy/source --import tsx apps/server/bench/shards.ts
 */
const [own, other] = createSeats(2, { main: 65_536, reply: 65_536 });
if (own === undefined || other === undefined) throw new Error("two seats are wanted");
const worker = startThread(new URL("./echo-shard.ts", import.meta.url), {
  name: "echo",
  workerData: other,
  transferList: portsOf(other),
});
const mesh = new Mesh(own);
let received = (): void => undefined;
mesh.start({
  main: () => undefined,
  reply: (_source, record, importer) => {
    record.u32();
    importer.receive(record);
    received();
  },
});

function send(bytes: Uint8Array): void {
  const outbox = mesh.main(1);
  const record = outbox.begin(4 + REFERENCE_BYTES_MAX);
  record.u32(0);
  outbox.body(record, [bytes]);
  outbox.commit();
}

const roundTrip = (bytes: Uint8Array): Promise<void> =>
  new Promise((resolve) => {
    received = resolve;
    send(bytes);
  });

async function lone(what: string, bytes: Uint8Array, rounds: number): Promise<void> {
  const micros: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const started = performance.now();
    await roundTrip(bytes);
    micros.push((performance.now() - started) * 1000);
  }
  micros.sort((a, b) => a - b);
  const at = (share: number): string => (micros[Math.floor(share * rounds)] ?? 0).toFixed(1);
  console.log(`${what}: round trip p50 ${at(0.5)} us, p99 ${at(0.99)} us`);
}

async function batches(what: string, bytes: Uint8Array, count: number, depth: number): Promise<void> {
  const started = performance.now();
  await new Promise<void>((resolve) => {
    let [sent, answered] = [0, 0];
    received = () => {
      answered++;
      if (answered === count) resolve();
      else if (sent < count && sent - answered <= depth / 2) while (sent < count && sent - answered < depth) more();
    };
    const more = (): void => {
      sent++;
      send(bytes);
    };
    while (sent < depth) more();
  });
  const seconds = (performance.now() - started) / 1000;
  console.log(`${what}: ${Math.round(count / seconds)} round trips/s, ${((seconds * 1e6) / count).toFixed(2)} us each`);
}

const small = new Uint8Array(100);
await lone("start", small, 2000);
await lone("100 bytes", small, 5000);
await lone("250 KB, copied", new Uint8Array(250_000), 500);
await batches("100 bytes, 256 under way", small, 500_000, 256);
await batches("250 KB, 16 under way", new Uint8Array(250_000), 5000, 16);
worker.postMessage("stop");
mesh.close();
