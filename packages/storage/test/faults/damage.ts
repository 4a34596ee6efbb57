import { seeded } from "../partition-harness.js";

/** One way in which a file can be found; undefined bytes: it is gone. */
export interface Damage {
  readonly place: string;
  readonly bytes: Uint8Array | undefined;
}

/** Of every so many bytes one is damaged, another one in each file; `FAULT_STRIDE=1` takes them all. */
const STRIDE = Number(process.env["FAULT_STRIDE"] ?? 61);
const SECTOR_BYTES = 512;

type Kind = (bytes: Uint8Array, random: () => number) => Iterable<Damage>;

/** What can happen to a file while nobody looks. */
const kinds = {
  *"a flipped bit"(bytes, random) {
    for (let at = below(random, Math.min(STRIDE, bytes.length)); at < bytes.length; at += STRIDE) {
      const flipped = Uint8Array.from(bytes);
      const bit = below(random, 8);
      flipped[at] = (bytes[at] ?? 0) ^ (1 << bit);
      yield { place: `bit ${bit} of byte ${at}`, bytes: flipped };
    }
  },
  *"a cut end"(bytes, random) {
    for (let size = 1 + below(random, Math.min(STRIDE, bytes.length)); size < bytes.length; size += STRIDE) {
      yield { place: `cut at byte ${size}`, bytes: bytes.slice(0, size) };
    }
  },
  *"an empty file"() {
    yield { place: "empty", bytes: new Uint8Array(0) };
  },
  *"no file"() {
    yield { place: "missing", bytes: undefined };
  },
  *"a sector of zeros"(bytes) {
    for (let at = 0; at < bytes.length; at += SECTOR_BYTES) {
      const zeroed = Uint8Array.from(bytes).fill(0, at, at + SECTOR_BYTES);
      if (Buffer.compare(zeroed, bytes) !== 0) yield { place: `zeros from byte ${at}`, bytes: zeroed };
    }
  },
  *"bytes behind its end"(bytes, random) {
    for (const length of [1, 7, 64, 700]) {
      const garbage = Uint8Array.from({ length }, () => below(random, 256));
      yield { place: `${length} foreign bytes`, bytes: joined(bytes, garbage) };
      yield { place: `${length} zeros`, bytes: joined(bytes, new Uint8Array(length)) };
    }
    yield { place: "itself again", bytes: joined(bytes, bytes) };
  },
} satisfies Record<string, Kind>;

export type DamageKind = keyof typeof kinds;
export const damageKinds = Object.keys(kinds) as readonly DamageKind[];

/** Every damage of a kind to a file. */
export function damagesOf(kind: DamageKind, bytes: Uint8Array, seed: number): Damage[] {
  return [...kinds[kind](bytes, seeded(seed))];
}

const below = (random: () => number, limit: number): number => Math.floor(random() * limit);
const joined = (first: Uint8Array, second: Uint8Array): Uint8Array => Uint8Array.from([...first, ...second]);
