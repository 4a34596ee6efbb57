/**
 * Figures of the hot layouts: `pnpm --filter @iggy/protocol bench`. A batch of 250 messages of 1000 bytes is what a busy
 * producer sends; rates count its 262,256 bytes.
 */
import { arch, cpus, platform } from "node:os";
import {
  encodeBatch,
  FrameAssembler,
  hashBackend,
  HEADER_SIZE,
  MessageCursor,
  type MessageInput,
  RequestHeader,
  stampBatch,
  validateBatchLayout,
  validateRequestHeader,
  verifyBatch,
  writeReplyEcho,
  writeRequestHeader,
  xxh3_64Into,
} from "@iggy/protocol";
import { portable } from "../src/hash/portable.js";
import { writeBatch, writeUnsealedBatch } from "../src/messages/encode.js";
import { type Figure, measure, table } from "./measure.js";

const COUNT = 250;
const PAYLOAD = 1000;

const messages: MessageInput[] = Array.from({ length: COUNT }, (_, i) => ({
  id: Uint8Array.from({ length: 16 }, (_, byte) => (i * 31 + byte * 7 + 1) & 0xff),
  payload: Uint8Array.from({ length: PAYLOAD }, (_, at) => (at * 7 + i) & 0xff),
  originTimestamp: 1_772_000_000_000_000 + i,
}));
const numbered = messages.map((message, i) => ({ ...message, id: (BigInt(i + 1) << 64n) | 0x0123_4567_89ab_cdefn }));
const batch = encodeBatch(messages);
const size = batch.length;
const buffer = new Uint8Array(size);
const words = new Uint32Array(2);
const allocate = (bytes: number): Uint8Array => Buffer.allocUnsafeSlow(bytes);
/** Keeps results alive, so that no loop is optimised away. */
let sink = 0;

const cursor = new MessageCursor();
const figures: Figure[] = [
  measure("walk: offset and lengths of each message", size, () => {
    cursor.records(batch);
    while (cursor.next()) sink += cursor.offset + cursor.payloadLength;
  }),
  measure("walk: a payload view of each message", size, () => {
    cursor.records(batch);
    while (cursor.next()) sink += cursor.payload.length;
  }),
  measure("check the layout", size, () => {
    sink += validateBatchLayout(batch);
  }),
  measure("encode into a buffer, without hashing", size, () => {
    sink += writeUnsealedBatch(buffer, 0, messages, {});
  }),
  measure("encode into a buffer, ids as bigints, without hashing", size, () => {
    sink += writeUnsealedBatch(buffer, 0, numbered, {});
  }),
  measure("encode into a buffer, checksums included", size, () => {
    sink += writeBatch(buffer, 0, messages);
  }),
  measure("encode into new zeroed memory", size, () => {
    sink += encodeBatch(messages).length;
  }),
  measure("encode into new memory that is not zeroed", size, () => {
    sink += encodeBatch(messages, { allocate }).length;
  }),
  measure("verify: layout and every checksum", size, () => {
    sink += verifyBatch(batch);
  }),
  measure("stamp: partition, offset, time and checksum", size, () => {
    stampBatch(buffer, 0, { partitionId: 1, baseOffset: 1_000_000, baseTimestamp: 1_772_000_000_000_100 });
  }),
  measure("hash 1000 bytes, one call each", PAYLOAD, () => {
    xxh3_64Into(words, batch, 304, PAYLOAD);
  }),
  measure("hash 1000 bytes in plain JavaScript", PAYLOAD, () => {
    portable.hash(words, batch, 304, PAYLOAD);
  }),
  measure(
    "hash 1 MB",
    1_000_000,
    (() => {
      const large = new Uint8Array(1_000_000).fill(7);
      return () => {
        xxh3_64Into(words, large, 0, large.length);
      };
    })(),
  ),
];

const frame = new Uint8Array(HEADER_SIZE);
writeRequestHeader(frame, 0, { client: 7n, operation: 160, request: 11, session: 4711, partitionIncarnation: 41 });
const reply = new Uint8Array(HEADER_SIZE);
const header = new RequestHeader();
const chunk = new Uint8Array(256 * HEADER_SIZE);
for (let i = 0; i < 256; i++) chunk.set(frame, i * HEADER_SIZE);
const assembler = new FrameAssembler();

figures.push(
  measure("read and check a request header", 0, () => {
    header.at(frame);
    if (validateRequestHeader(header) === undefined) sink += header.request + header.session + header.operation;
  }),
  measure("write the echo of a request header", 0, () => {
    writeReplyEcho(reply, 0, header, { bodyLength: 24 });
  }),
  measure("cut 256 whole frames from a chunk", 0, () => {
    assembler.push(chunk, (whole) => {
      sink += whole.length;
    });
  }),
  measure("cut 256 frames from chunks of 1460 bytes", 0, () => {
    for (let at = 0; at < chunk.length; at += 1460) {
      assembler.push(chunk.subarray(at, at + 1460), (whole) => {
        sink += whole.length;
      });
    }
  }),
);

console.log(`node ${process.version}, ${platform()} ${arch()}, ${String(cpus().length)} × ${cpus()[0]?.model ?? "?"}`);
console.log(
  `hash backend: ${hashBackend}; batch: ${String(COUNT)} × ${String(PAYLOAD)} bytes = ${String(size)} bytes\n`,
);
console.log(table(figures));
if (sink < 0) console.log(sink);
