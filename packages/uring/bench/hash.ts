/**
 * Hashing and encryption by the addon beside what serves without it, in one run, since only ratios of one run tell
 * anything: `node --conditions=@iggy/source --import tsx bench/hash.ts`, with the addon built.
 */
import * as protocol from "@iggy/protocol";
import { randomFillSync } from "node:crypto";
import { createRequire } from "node:module";
import { cpus } from "node:os";
import { isNativeHash, nativeHasher, portableHasher } from "../src/hash/index.js";
import { AesGcmSiv, isNativeSiv, javascriptSiv, NativeBatchSiv, nativeSivBackend } from "../src/siv/index.js";

const ROUNDS = 31;
const ROUND_MILLIS = 10;
const WARM_MILLIS = 100;

/** Nanoseconds of one run: the median of the faster half of the rounds, since other load only adds time. */
function measure(work: () => void): number {
  const warmUntil = performance.now() + WARM_MILLIS;
  let runs = 0;
  while (performance.now() < warmUntil) {
    work();
    runs++;
  }
  const perRound = Math.max(1, Math.round((runs * ROUND_MILLIS) / WARM_MILLIS));
  const times = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    for (let i = 0; i < perRound; i++) work();
    return ((performance.now() - start) * 1e6) / perRound;
  }).sort((a, b) => a - b);
  return times[ROUNDS >> 2] ?? 0;
}

const rate = (bytes: number, nanos: number): string =>
  bytes >= nanos ? `${(bytes / nanos).toFixed(2)} GB/s` : `${((1000 * bytes) / nanos).toFixed(1)} MB/s`;

/** Time and rate with the addon, the same without it, and the ratio of the times. */
function row(name: string, bytes: number, native: () => void, portable: () => void): void {
  const nativeNanos = measure(native);
  const portableNanos = measure(portable);
  const cells = [
    `${nativeNanos.toFixed(0)} ns`,
    rate(bytes, nativeNanos),
    `${portableNanos.toFixed(0)} ns`,
    rate(bytes, portableNanos),
    `${(portableNanos / nativeNanos).toFixed(1)} x`,
  ];
  console.log(`${name.padEnd(44)}${cells.map((cell) => cell.padStart(13)).join("")}`);
}

const heading = (title: string, portable: string): void => {
  console.log(`\n${title.padEnd(44)}${["addon", "", portable, "", "ratio"].map((cell) => cell.padStart(13)).join("")}`);
};

const file = process.env["IGGY_URING_ADDON"] ?? "../build/Release/uring.node";
const addon = createRequire(import.meta.url)(file) as object;
if (!isNativeHash(addon) || !isNativeSiv(addon)) throw new Error("this addon was built without hashing");

const native = nativeHasher(addon, protocol);
const portable = portableHasher(protocol, protocol.hashBackend);
const bytes = new Uint8Array(16 << 20);
for (let at = 0; at < bytes.length; at += 65_536) randomFillSync(bytes, at, 65_536);
const words = new Uint32Array(2);

console.log(`node ${process.version}, ${process.arch}, ${cpus()[0]?.model ?? "?"}`);
console.log(`kernels: ${addon.hashKernels.join(", ")}; AES instructions: ${String(addon.sivAvailable)}`);

heading("XXH3-64, one call", portable.name);
for (const length of [16, 64, 240, 256, 1000, 4096, 16_384, 65_536, 262_144, 1 << 20, 16 << 20]) {
  row(
    `${String(length)} bytes`,
    length,
    () => native.xxh3_64Into(words, bytes, 0, length),
    () => portable.xxh3_64Into(words, bytes, 0, length),
  );
}

heading("XXH3-64, 1 MiB by kernel", "scalar");
for (const kernel of addon.hashKernels) {
  const length = 1 << 20;
  row(
    kernel,
    length,
    () => addon.xxh3By(kernel, bytes, 0, length),
    () => addon.xxh3By("scalar", bytes, 0, length),
  );
}

heading("XXH3-64, a stream of pieces", portable.name);
for (const piece of [100, 1000, 65_536]) {
  const nativeStream = native.createStream();
  const portableStream = portable.createStream();
  const part = bytes.subarray(0, piece);
  row(
    `pieces of ${String(piece)} bytes`,
    piece,
    () => nativeStream.update(part),
    () => portableStream.update(part),
  );
}

const stamp = { partitionId: 7, baseOffset: 1_000_000, baseTimestamp: 1_772_000_000_000_000 };
const batchOf = (count: number, size: number): Uint8Array =>
  protocol.encodeBatch(
    Array.from({ length: count }, (_, i) => ({ payload: bytes.subarray(i, i + size), originTimestamp: 1_772 + i })),
  );
const shapes = [
  [1, 100],
  [10, 100],
  [250, 1000],
  [1000, 100],
  [16, 65_536],
] as const;
for (const [title, run] of [
  ["verify a batch", (hasher: typeof native, batch: Uint8Array) => hasher.verifyBatch(batch)],
  ["stamp a batch", (hasher: typeof native, batch: Uint8Array) => hasher.stampBatch(batch, 0, stamp)],
  [
    "verify and stamp a batch",
    (hasher: typeof native, batch: Uint8Array) => hasher.verifyAndStampBatch(batch, 0, stamp),
  ],
] as const) {
  heading(title, portable.name);
  for (const [count, size] of shapes) {
    const batch = batchOf(count, size);
    row(
      `${String(count)} messages of ${String(size)} bytes`,
      batch.length,
      () => run(native, batch),
      () => run(portable, batch),
    );
  }
}

const key = bytes.subarray(0, 32);
const nonce = bytes.subarray(32, 44);
const nativeSiv = new AesGcmSiv(key, nativeSivBackend(addon));
const slowSiv = new AesGcmSiv(key, javascriptSiv);
for (const length of [16, 100, 1000, 16_384, 1 << 20]) {
  heading(`AES-256-GCM-SIV of ${String(length)} bytes`, "javascript");
  const plaintext = bytes.subarray(64, 64 + length);
  const sealed = nativeSiv.seal(nonce, plaintext);
  const output = new Uint8Array(sealed.length);
  const opened = new Uint8Array(length);
  row(
    "seal",
    length,
    () => nativeSiv.sealInto(nonce, plaintext, output),
    () => slowSiv.sealInto(nonce, plaintext, output),
  );
  row(
    "open",
    length,
    () => nativeSiv.openInto(sealed, opened),
    () => slowSiv.openInto(sealed, opened),
  );
}

heading("a batch of 250 messages of 1000 bytes", "by section");
const cipher = new NativeBatchSiv(addon, key);
const batch = batchOf(250, 1000);
const fill = (target: Uint8Array): void => void randomFillSync(target);
const allocate = (size: number): Uint8Array => Buffer.allocUnsafeSlow(size);
const rewritten = (source: Uint8Array, growth: number, section: protocol.RewriteSection): void => {
  const target = allocate(protocol.rewrittenBatchSize(source, growth) ?? 0);
  protocol.rewriteBatch(source, target, growth, section);
};
const sealedBatch = cipher.seal(batch, fill, allocate) ?? batch;
const oneNonce = new Uint8Array(12);
row(
  "seal, in one native call or one per section",
  batch.length,
  () => cipher.seal(batch, fill, allocate),
  () =>
    rewritten(batch, 28, (source, target) => {
      fill(oneNonce);
      nativeSiv.sealInto(oneNonce, source, target);
      return true;
    }),
);
row(
  "open, in one native call or one per section",
  batch.length,
  () => cipher.open(sealedBatch, allocate),
  () => rewritten(sealedBatch, -28, (source, target) => nativeSiv.openInto(source, target)),
);
