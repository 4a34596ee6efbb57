// Takes blocks that another thread put into a lane, checks their bytes, sometimes keeps them a while, and releases them.
import { parentPort, workerData } from "node:worker_threads";
import { type Block, Slab, SlabAllocator, type SlabHandle } from "../../src/index.js";
import { load } from "../support/ring-setup.js";
import { Lane } from "./lane.js";

const { handle, lane, region } = workerData as { handle: SlabHandle; lane: SharedArrayBuffer; region: number };
const slab = Slab.attach(handle, load().addon);
const blocks = new SlabAllocator(slab, { region, checked: true });
const incoming = new Lane(lane);
const kept: Block[] = [];
let damaged = 0;
let count = 0;

for (;;) {
  const offset = incoming.take();
  if (offset === 0) break;
  count++;
  const block = blocks.adopt(offset);
  const mark = block.bytes[0];
  if (mark === 0 || block.bytes[block.bytes.length - 1] !== mark) damaged++;
  kept.push(block);
  if (kept.length > count % 7) kept.shift()?.release();
}
for (const block of kept) {
  if (block.bytes[0] !== block.bytes[block.bytes.length - 1]) damaged++;
  block.release();
}
parentPort?.postMessage({ damaged, count });
