import { encodeBatch, type MessageInput, type ProducerSection } from "@iggy/protocol";
import fc from "fast-check";

export const u64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });

const message: fc.Arbitrary<MessageInput> = fc.record(
  {
    id: fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }),
    payload: fc.uint8Array({ maxLength: 400 }),
    userHeaders: fc.uint8Array({ maxLength: 40 }),
    originTimestamp: fc.integer({ min: 1_772_000_000_000_000, max: 1_772_000_001_000_000 }),
  },
  { requiredKeys: ["payload", "originTimestamp"] },
);
const producer: fc.Arbitrary<ProducerSection | null> = fc.option(
  fc.record({
    id: fc.bigInt({ min: 0n, max: (1n << 63n) - 1n }),
    epoch: fc.nat(32_767),
    baseSequence: fc.nat(2_147_483_647),
  }),
);

/** A sound batch. */
export const randomBatch: fc.Arbitrary<Uint8Array> = fc
  .record({ messages: fc.array(message, { minLength: 1, maxLength: 12 }), producer })
  .map((value) => encodeBatch(value.messages, { producer: value.producer }));

/** Fields of the header, and of the first frame, in which a changed byte breaks a rule. */
const FIELDS = [24, 32, 33, 35, 39, 40, 48, 51, 52, 53, 56, 63, 64, 65, 66, 68, 71, 72, 255, 256, 288, 292, 295, 296];

const change = fc.record({
  at: fc.oneof(fc.constantFrom(...FIELDS), fc.nat()),
  byte: fc.constantFrom(0, 1, 2, 0x2f, 0x30, 0x7f, 0x80, 0xff),
});

/** What may be wrong with a batch: bytes changed, bytes missing or too many, wrongly stated bounds. */
export interface Damage {
  readonly changes: readonly { readonly at: number; readonly byte: number }[];
  readonly cut: number;
  readonly added: number;
}

export const randomDamage: fc.Arbitrary<Damage> = fc.record({
  changes: fc.array(change, { maxLength: 3 }),
  cut: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(500)),
  added: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(60)),
});

export function damaged(batch: Uint8Array, { changes, cut, added }: Damage): Uint8Array {
  const bytes = new Uint8Array(Math.max(0, batch.length - cut) + added);
  bytes.set(batch.subarray(0, bytes.length));
  for (const { at, byte } of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte;
  return bytes;
}
