import type { StreamEncryption } from "@iggy/engine";
import {
  decodeExact,
  encodeBatch,
  ErrorCode,
  Operation,
  parseWrapSet,
  rewrapStreamKeys,
  stampBatch,
} from "@iggy/protocol";
import { describe, expect, it } from "vitest";
import { Secret } from "../../src/config/index.js";
import { Encryption, partitionCipher, portableCipher } from "../../src/encryption/index.js";
import { KeyRing } from "../../src/encryption/key-ring.js";
import { type EncryptionKeys, serverKey } from "./estate.js";

const streamKey = new Uint8Array(32).fill(0xa5);

const settings = ({ enabled = true, key, previous = [], retired = [] }: EncryptionKeys) => ({
  enabled,
  key: new Secret(key ?? ""),
  previousKeys: previous.map((text) => new Secret(text)),
  retiredKekFingerprints: retired,
});

async function wrapped(keys: EncryptionKeys): Promise<StreamEncryption> {
  const ring = await KeyRing.of(settings(keys));
  const wrapSet = await ring?.wrapNew(streamKey);
  return wrapSet === undefined ? expect.fail("a key") : { kind: "wrapped", wrapSet, envelopes: parseWrapSet(wrapSet) };
}

/** Encryption over streams 0, 1, 2 and so on, and what it logs. */
async function over(keys: EncryptionKeys, ...streams: readonly StreamEncryption[]) {
  const known = streams.map((encryption, id) => ({ id, name: `stream-${id}`, createdOp: 10 + id, encryption }));
  const logged: string[] = [];
  const log = (fields: object, message: string): void => {
    logged.push(`${message} ${JSON.stringify(fields)}`);
  };
  const encryption = await Encryption.open(settings(keys), {
    makeCipher: portableCipher,
    catalog: () => ({ stream: (id) => known[id], streams: () => known }),
    log: { warn: log, error: log },
  });
  return { encryption, logged };
}

const plain: StreamEncryption = { kind: "none" };
const unreadable: StreamEncryption = { kind: "unreadable" };
const one = { key: serverKey(1) };
const two = { key: serverKey(2) };

describe("the cipher of a partition", () => {
  it("is none on a plain stream", async () => {
    const { encryption, logged } = await over(one, plain);
    expect(await encryption.cipherOf({ streamId: 0 })).toBeUndefined();
    expect(logged).toEqual([]);
  });

  it("is that of its stream: what one partition seals, another opens", async () => {
    const { encryption } = await over(one, await wrapped(one));
    const ciphers = [await encryption.cipherOf({ streamId: 0 }), await encryption.cipherOf({ streamId: 0 })];
    const batch = encodeBatch([{ payload: Buffer.from("hello"), originTimestamp: 1 }]);
    const sealed = ciphers[0]?.sealBatch(batch);
    if (!(sealed instanceof Uint8Array)) return expect.fail("sealed");
    stampBatch(sealed, 0, { partitionId: 0, baseOffset: 7, baseTimestamp: 1 });
    expect(ciphers.map((cipher) => cipher?.refusal)).toEqual([0, 0]);
    expect(ciphers[1]?.openRecords([sealed])).toMatchObject({ messagesCount: 1, lastOffset: 7, bytes: batch.length });
  });

  it.each([
    ["another server key", two, () => wrapped(one), ErrorCode.CannotDecryptData],
    ["no server key", {}, () => wrapped(one), ErrorCode.CannotDecryptData],
    ["options of another release", one, () => Promise.resolve(unreadable), ErrorCode.UnsupportedCriticalOption],
  ])("refuses everything under %s, and the log names the stream once", async (_what, keys, stream, code) => {
    const { encryption, logged } = await over(keys, plain, await stream());
    await encryption.check();
    const cipher = await encryption.cipherOf({ streamId: 1 });
    expect(cipher?.refusal).toBe(code);
    expect(cipher?.openRecords([])).toBe(code);
    expect(await encryption.cipherOf({ streamId: 0 })).toBeUndefined();
    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain("the stream stream-1 is not served");
  });

  it("is made where the partition lives, of a key that is erased then", async () => {
    const { encryption } = await over(one, await wrapped(one), plain);
    const key = await encryption.openKey(0);
    if (!(key instanceof Uint8Array)) return expect.fail("a key");
    expect(Buffer.from(key)).toEqual(Buffer.from(streamKey));
    expect(partitionCipher(key, portableCipher)?.refusal).toBe(0);
    expect(Buffer.from(key)).toEqual(Buffer.alloc(32));
    expect(partitionCipher(await encryption.openKey(1), portableCipher)).toBeUndefined();
  });

  it("refuses everything when the stream was deleted meanwhile", async () => {
    const { encryption } = await over(one);
    expect((await encryption.cipherOf({ streamId: 0 }))?.refusal).toBe(ErrorCode.HistoryUnavailable);
  });
});

describe("a rotation", () => {
  const both = { key: serverKey(2), previous: [serverKey(1)] };

  it("asks for nothing while there is one key", async () => {
    const { encryption } = await over(one, await wrapped(one), plain);
    expect(await encryption.dueRewraps()).toEqual([]);
    expect(await (await over({}, await wrapped(one))).encryption.dueRewraps()).toEqual([]);
  });

  it("asks for the streams that lack the current key, and for no others", async () => {
    const { encryption, logged } = await over(both, await wrapped(one), plain, unreadable, await wrapped(both));
    const due = await encryption.dueRewraps();
    expect(due).toMatchObject([{ operation: Operation.RewrapStreamKeys, client: 0n, session: 0 }]);
    const { entries } = decodeExact(rewrapStreamKeys, due[0]?.body ?? new Uint8Array(0));
    expect(entries).toMatchObject([{ streamId: 0, createdOp: 10n }]);
    expect(entries.map(({ wrapSet }) => parseWrapSet(wrapSet).length)).toEqual([2]);
    expect(logged).toEqual([]);
  });

  it("goes in operations of a size that the log takes", async () => {
    const { encryption } = await over(both, ...Array.from<StreamEncryption>({ length: 600 }).fill(await wrapped(one)));
    const due = await encryption.dueRewraps();
    expect(due.map(({ body }) => decodeExact(rewrapStreamKeys, body).entries.length)).toEqual([256, 256, 88]);
    for (const { body } of due) expect(body.length).toBeLessThan(1024 * 1024);
  });

  it("leaves a full set and one that nobody opens alone, and says so once", async () => {
    const three = { key: serverKey(3), previous: [serverKey(4), serverKey(5)] };
    const current = { key: serverKey(2), previous: [serverKey(3)] };
    const { encryption, logged } = await over(current, await wrapped(three), await wrapped(one));
    expect(await encryption.dueRewraps()).toEqual([]);
    expect(await encryption.dueRewraps()).toEqual([]);
    expect(logged).toHaveLength(2);
    expect(logged[0]).toMatch(/stream-0 can not be wrapped .* retire one of them/);
    expect(logged[1]).toMatch(/stream-1 can not be wrapped .* no configured server key opens/);
    for (const byte of [2, 3, 0xa5]) expect(logged.join()).not.toContain(serverKey(byte));
  });
});

it("keys of new streams need a server key", async () => {
  expect((await over({})).encryption.streamKeys).toEqual({});
  const off = (await over({ ...one, enabled: false })).encryption.streamKeys.streamKeys;
  expect(off?.wrapNew(undefined)).toBeUndefined();
  expect(off?.wrapNew(streamKey)).toBeInstanceOf(Promise);
});
