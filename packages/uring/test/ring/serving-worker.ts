// A thread with a ring of its own, that serves connections which another thread accepted.
import { parentPort, workerData } from "node:worker_threads";
import { RingStream } from "../../src/index.js";
import { load, openUring } from "../support/ring-setup.js";
import { echo, Recorder } from "../support/sink.js";

const { region } = workerData as { region: number };
const { addon } = load();
if (addon === undefined) throw new Error("no addon");
const uring = openUring(addon, { region });
let open = 0;

parentPort?.on("message", (descriptor: number) => {
  if (descriptor === -1) {
    void uring.close().then(() => {
      parentPort?.postMessage({ usedBytes: uring.blocks.usedBytes });
      parentPort?.close();
    });
    return;
  }
  open++;
  const recorder = new Recorder(uring);
  const stream = new RingStream(uring.ring, descriptor, recorder);
  echo(stream, recorder);
  void recorder.whenClosed.then(() => {
    if (--open === 0) parentPort?.postMessage("idle");
  });
  stream.resume();
});
