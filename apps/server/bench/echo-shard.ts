import { parentPort, workerData } from "node:worker_threads";
import { loadAddon } from "@iggy/uring";
import { Mesh } from "../src/shards/lanes/mesh.js";
import type { Seat } from "../src/shards/lanes/seat.js";
import { REFERENCE_BYTES_MAX } from "../src/shards/lanes/transfer.js";

/** Answers every record with its body. */
const { seat, isNative } = workerData as { readonly seat: Seat; readonly isNative: boolean };
const mesh = new Mesh(seat, isNative ? { addon: loadAddon().addon } : {});
mesh.start({
  main: (source, record, importer) => {
    const id = record.u32();
    const { pieces, memory } = importer.receive(record);
    const outbox = mesh.reply(source);
    const reply = outbox.begin(4 + REFERENCE_BYTES_MAX);
    reply.u32(id);
    outbox.body(reply, pieces, memory);
    outbox.commit();
  },
  reply: () => undefined,
});
parentPort?.once("message", () => {
  mesh.close();
  parentPort?.close();
});
