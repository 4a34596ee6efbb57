import {
  KeyOrigin,
  type KeyOriginCode,
  openWrapSet,
  parseWrapSet,
  streamKeyFingerprint,
  wrapStreamKey,
} from "@iggy/protocol";
import { describe, expect, it } from "vitest";
import { serverKeyFingerprint } from "../../src/config/encryption-key.js";
import { Secret } from "../../src/config/index.js";
import { fillRandom, hexOf, KeyRing } from "../../src/encryption/key-ring.js";
import { rewrap, type Rewrap } from "../../src/encryption/rewrap.js";
import { serverKey } from "./estate.js";

const streamKey = new Uint8Array(32).fill(0xa5);
const fingerprint = (byte: number): string => serverKeyFingerprint(new Secret(serverKey(byte)));

/** The keys of a configuration; the first one is the current key. */
async function ring(keys: readonly number[], retired: readonly number[] = []): Promise<KeyRing> {
  const [key = 0, ...previous] = keys;
  const made = await KeyRing.of({
    enabled: true,
    key: new Secret(serverKey(key)),
    previousKeys: previous.map((byte) => new Secret(serverKey(byte))),
    retiredKekFingerprints: retired.map(fingerprint),
  });
  return made ?? expect.fail("there is a key");
}

const wrapped = async (keys: readonly number[], origin: KeyOriginCode = KeyOrigin.client): Promise<Uint8Array> =>
  wrapStreamKey(streamKey, origin, (await ring(keys)).keys, fillRandom);

const shown = (wrapSet: Uint8Array): string[] =>
  parseWrapSet(wrapSet).map(({ kekFingerprint }) => hexOf(kekFingerprint));
const sorted = (keys: readonly number[]): string[] => keys.map(fingerprint).sort();

const outcomeOf = async (
  set: readonly number[],
  keys: readonly number[],
  retired: readonly number[],
): Promise<Rewrap> => rewrap(parseWrapSet(await wrapped(set)), await ring(keys, retired));

describe("the wrap set of a stream under a rotation", () => {
  it.each([
    ["one under the current key", [1], [1, 2], []],
    ["one that other keys share", [1, 2, 3], [1], []],
    ["one without the retired key", [1], [1], [2]],
  ])("is settled: %s", async (_what, set, keys, retired) => {
    expect(await outcomeOf(set, keys, retired)).toEqual({ kind: "settled" });
  });

  it.each([
    ["gets the current key", [1], [2, 1], [], [1, 2]],
    ["gets it beside keys that this node does not have", [1, 3], [2, 1], [], [1, 2, 3]],
    ["loses the retired key", [1, 2], [2], [1], [2]],
    ["gets and loses at once", [1, 3], [2, 3], [1], [2, 3]],
    ["has room again once a key is retired", [1, 2, 3], [4, 3], [1], [2, 3, 4]],
    ["may lose more than one", [1, 2, 3], [3], [1, 2], [3]],
  ])("is replaced: it %s", async (_what, set, keys, retired, expected) => {
    const outcome = await outcomeOf(set, keys, retired);
    if (outcome.kind !== "replace") return expect.fail(outcome.kind);
    expect(shown(outcome.wrapSet)).toEqual(sorted(expected));
    const current = [(await ring(keys)).current];
    expect(await openWrapSet(outcome.wrapSet, current)).toEqual(streamKey);
    const envelopes = parseWrapSet(outcome.wrapSet);
    expect(new Set(envelopes.map(({ keyFingerprint }) => hexOf(keyFingerprint)))).toEqual(
      new Set([hexOf(await streamKeyFingerprint(streamKey))]),
    );
    // A second look finds nothing to do.
    expect(await rewrap(envelopes, await ring(keys, retired))).toEqual({ kind: "settled" });
  });

  it("keeps its origin", async () => {
    const outcome = await rewrap(parseWrapSet(await wrapped([1], KeyOrigin.server)), await ring([2, 1]));
    if (outcome.kind !== "replace") return expect.fail(outcome.kind);
    expect(parseWrapSet(outcome.wrapSet).map(({ origin }) => origin)).toEqual([KeyOrigin.server, KeyOrigin.server]);
  });

  it.each([
    ["three other keys", [1, 2, 3], [4, 1], [], "full"],
    ["a key that nobody has", [1], [2, 3], [], "unopened"],
    ["only keys that nobody has and that are retired", [1], [2, 3], [1], "unopened"],
  ])("is left alone under %s", async (_what, set, keys, retired, why) => {
    expect(await outcomeOf(set, keys, retired)).toEqual({ kind: "stuck", why });
  });

  it("does not lose a key before the current one is known to open it", async () => {
    const set = await wrapped([1, 2]);
    const at = parseWrapSet(set).findIndex(({ kekFingerprint }) => hexOf(kekFingerprint) === fingerprint(2));
    set[at * 78 + 30]! ^= 1;
    expect(await rewrap(parseWrapSet(set), await ring([2], [1]))).toEqual({ kind: "stuck", why: "unopened" });
  });
});

describe("the keys of a configuration", () => {
  it("are none without a server key", async () => {
    const none = { enabled: false, key: new Secret(""), previousKeys: [], retiredKekFingerprints: [] };
    expect(await KeyRing.of(none)).toBeUndefined();
  });

  it("rotate when there are others than the current one", async () => {
    expect((await ring([1])).isRotating).toBe(false);
    expect((await ring([1, 2])).isRotating).toBe(true);
    expect((await ring([1], [2])).isRotating).toBe(true);
  });

  it("wrap a generated key anew for every stream", async () => {
    const keys = await ring([1, 2]);
    const [one, two] = await Promise.all([keys.wrapNew(undefined), keys.wrapNew(undefined)]);
    if (one === undefined || two === undefined) return expect.fail("keys are generated");
    expect(shown(one)).toEqual(sorted([1, 2]));
    expect(await keys.open(one)).not.toEqual(await keys.open(two));
    expect(parseWrapSet(one)[0]?.origin).toBe(KeyOrigin.server);
  });
});
