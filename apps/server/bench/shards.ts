import { loadAddon } from "@iggy/uring";
import { Mesh } from "../src/shards/lanes/mesh.js";
import { createSeats, portsOf } from "../src/shards/lanes/seat.js";
import { REFERENCE_BYTES_MAX } from "../src/shards/lanes/transfer.js";
import { startThread } from "../src/shards/thread.js";

/**
 * Hand-over between two shards: the round trip of a lone record, and records a second in batches. First with messages that
 * wake who sleeps, then with the native wake-up, and so on in turn: the machine is not the same from minute to minute.
 *
 *   node --conditions=@iggy/source --import tsx apps/server/bench/shards.ts [rounds]
 */
class Pair {
  private readonly mesh: Mesh;
  private readonly stopOther: () => void;
  private received = (): void => undefined;

  constructor(isNative: boolean) {
    const [own, other] = createSeats(2, { main: 65_536, reply: 65_536 });
    if (own === undefined || other === undefined) throw new Error("two seats are wanted");
    const worker = startThread(new URL("./echo-shard.ts", import.meta.url), {
      name: "echo",
      workerData: { seat: other, isNative },
      transferList: portsOf(other),
    });
    this.stopOther = () => worker.postMessage("stop");
    this.mesh = new Mesh(own, isNative ? { addon: loadAddon().addon } : {});
    this.mesh.start({
      main: () => undefined,
      reply: (_source, record, importer) => {
        record.u32();
        importer.receive(record);
        this.received();
      },
    });
  }

  /** Median and 99th percentile of lone round trips, in microseconds. */
  async lone(bytes: Uint8Array, rounds: number): Promise<{ readonly p50: number; readonly p99: number }> {
    const micros: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const started = performance.now();
      await new Promise<void>((resolve) => {
        this.received = resolve;
        this.send(bytes);
      });
      micros.push((performance.now() - started) * 1000);
    }
    micros.sort((a, b) => a - b);
    const at = (share: number): number => micros[Math.floor(share * rounds)] ?? 0;
    return { p50: at(0.5), p99: at(0.99) };
  }

  /** Microseconds for each of so many round trips, `depth` of which are under way at a time. */
  async batches(bytes: Uint8Array, count: number, depth: number): Promise<number> {
    const started = performance.now();
    await new Promise<void>((resolve) => {
      let [sent, answered] = [0, 0];
      const more = (): void => {
        sent++;
        this.send(bytes);
      };
      this.received = () => {
        answered++;
        if (answered === count) resolve();
        else if (sent < count && sent - answered <= depth / 2) while (sent < count && sent - answered < depth) more();
      };
      while (sent < depth) more();
    });
    return ((performance.now() - started) * 1000) / count;
  }

  close(): void {
    this.stopOther();
    this.mesh.close();
  }

  private send(bytes: Uint8Array): void {
    const outbox = this.mesh.main(1);
    const record = outbox.begin(4 + REFERENCE_BYTES_MAX);
    record.u32(0);
    outbox.body(record, [bytes]);
    outbox.commit();
  }
}

const ROUNDS = Number(process.argv[2] ?? 3);
const small = new Uint8Array(100);
const large = new Uint8Array(250_000);

for (let round = 0; round < ROUNDS; round++) {
  for (const isNative of [false, true]) {
    const pair = new Pair(isNative);
    await pair.lone(small, 2000);
    const one = await pair.lone(small, 5000);
    const oneLarge = await pair.lone(large, 500);
    const many = await pair.batches(small, 200_000, 256);
    const manyLarge = await pair.batches(large, 2000, 16);
    pair.close();
    const text = (micros: number): string => `${micros.toFixed(1)} us`;
    console.log(
      `${isNative ? "native  " : "messages"}  100 bytes: p50 ${text(one.p50)}, p99 ${text(one.p99)}, ` +
        `${text(many)} with 256 under way; 250 KB, copied: p50 ${text(oneLarge.p50)}, ${text(manyLarge)} with 16`,
    );
  }
}
