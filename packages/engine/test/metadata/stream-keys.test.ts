import {
  createStream,
  decode,
  decodeChange,
  decodeExact,
  decodeItem,
  deleteStream,
  deriveKeyEncryptionKey,
  encode,
  encodeBase64,
  encodeRequest,
  ErrorCode,
  getMetadataChanges,
  getStream,
  getStreams,
  type KeyEncryptionKey,
  KeyOrigin,
  MetadataGroup,
  type MetadataChangesPage,
  type MetadataChangesRequest,
  openWrapSet,
  Operation,
  type OptionEntry,
  optionRaw,
  optionString,
  parseWrapSet,
  rewrapStreamKeys,
  stream,
  streamKeyFingerprint,
  wrapStreamKey,
} from "@iggy/protocol";
import { MetadataMachine, streamKeyRewrap } from "@iggy/engine";
import { beforeEach, describe, expect, it } from "vitest";
import { id, type TestClient, TestNode } from "./node.js";

const key = Uint8Array.from({ length: 32 }, (_, at) => at);
const generated = new Uint8Array(32).fill(0xa5);
const random = (bytes: Uint8Array): void => void bytes.fill(9);

let keks: readonly KeyEncryptionKey[];
let node: TestNode;
let root: TestClient;
beforeEach(async () => {
  keks = await Promise.all([1, 2, 3].map((byte) => deriveKeyEncryptionKey(new Uint8Array(32).fill(byte))));
  node = new TestNode();
  root = node.signIn();
});

const kek = (at: number): KeyEncryptionKey => keks[at] ?? expect.fail();
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** Wraps under the first key; `generates` as the configuration says. */
function withServerKey(generates: boolean): void {
  Object.assign(node.secrets, {
    streamKeys: {
      wrapNew: (chosen: Uint8Array | undefined) => {
        if (chosen !== undefined) return wrapStreamKey(chosen, KeyOrigin.client, [kek(0)], random);
        return generates ? wrapStreamKey(generated, KeyOrigin.server, [kek(0)], random) : undefined;
      },
    },
  });
}

const create = (name: string, options: readonly OptionEntry[] = []) => node.send(root, createStream, { name, options });

/** What a stream shows of its key, by option name; a number is the code that refused the read. */
function shown(name: string): Record<string, string> | number {
  const found = node.read(root, getStream, { streamId: id(name) });
  if (typeof found === "number") return found;
  return textsOf(found?.stream.derivedOptions ?? []);
}
const textsOf = (entries: readonly OptionEntry[]): Record<string, string> =>
  Object.fromEntries(entries.map(({ key: name, value }) => [name, Buffer.from(value).toString()]));

function changes(start: MetadataChangesRequest["start"]): MetadataChangesPage {
  const request = { start, since: null, until: null, limit: 1000, groups: [MetadataGroup.streams] };
  const page = node.read(root, getMetadataChanges, request);
  return typeof page === "number" ? expect.fail(`refused with ${String(page)}`) : page;
}

/** Whether bytes hold the content of an option anywhere. */
const holds = (bytes: Uint8Array, content: Uint8Array): boolean => Buffer.from(bytes).includes(Buffer.from(content));

const lastBody = (): Uint8Array => node.log.at(-1)?.body ?? expect.fail();
const storedSet = (streamId: number): Uint8Array => {
  const encryption = node.machine.stream(streamId)?.encryption;
  return encryption?.kind === "wrapped" ? encryption.wrapSet : expect.fail();
};

describe("a stream that is created with a key of its own", () => {
  it.each([
    ["raw", optionRaw("encryption_key", key)],
    ["base64", optionString("encryption_key", encodeBase64(key))],
  ])("keeps it wrapped, and shows its source and the fingerprints: %s", async (_form, option) => {
    withServerKey(false);
    const { code, payload } = await create("secret", [option]);
    expect(code).toBe(0);
    const projections = {
      encryption_key_source: "stream",
      encryption_key_fingerprint: "8441e38538cbfa57",
      encryption_kek_fingerprint: hex(kek(0).fingerprint),
    };
    const reply = decode(stream, payload);
    expect(textsOf(reply.derivedOptions)).toEqual(projections);
    expect(reply.options).toEqual([]);
    expect(shown("secret")).toEqual(projections);
    expect(hex(await openWrapSet(storedSet(0), [kek(0)]))).toBe(hex(key));
  });

  it("gives the log the wrap set and its marker, never the key", async () => {
    withServerKey(false);
    await create("secret", [optionRaw("encryption_key", key.slice())]);
    const { options } = decodeExact(createStream.request, lastBody());
    expect(options.map((entry) => entry.key)).toEqual(["critical_keys", "encryption_key_wrapped"]);
    expect(Buffer.from(options[0]?.value ?? []).toString()).toBe("encryption_key_wrapped");
    for (const bytes of [lastBody(), node.machine.snapshot()]) {
      expect(holds(bytes, key)).toBe(false);
      expect(holds(bytes, Buffer.from(encodeBase64(key)))).toBe(false);
    }
  });

  it.each([
    ["raw", optionRaw("encryption_key", key)],
    ["base64", optionString("encryption_key", encodeBase64(key))],
  ])("leaves no key in the memory of its request: %s", async (_form, option) => {
    withServerKey(false);
    const body = encodeRequest(createStream, { name: "secret", options: [option] });
    await node.sendBody(root, Operation.CreateStream, body);
    expect(holds(body, option.value)).toBe(false);
    // Without a server key it is refused, and erased all the same.
    Object.assign(node.secrets, { streamKeys: undefined });
    const refused = encodeRequest(createStream, { name: "refused", options: [option] });
    expect(await node.sendBody(root, Operation.CreateStream, refused)).toMatchObject({ code: 4106 });
    expect(holds(refused, option.value)).toBe(false);
  });

  it("keeps it over a snapshot", async () => {
    withServerKey(false);
    await create("secret", [optionRaw("encryption_key", key.slice())]);
    const before = storedSet(0);
    node.machine = MetadataMachine.restore(node.machine.snapshot(), node.config);
    expect(storedSet(0)).toEqual(before);
    expect(shown("secret")).toMatchObject({ encryption_key_source: "stream" });
  });
});

describe("a stream that is created without a key", () => {
  it("gets one where the server says so", async () => {
    withServerKey(true);
    await create("secret");
    expect(shown("secret")).toMatchObject({ encryption_key_source: "server" });
    expect(hex(await openWrapSet(storedSet(0), [kek(0)]))).toBe(hex(generated));
  });

  it("stays plain where it does not", async () => {
    withServerKey(false);
    await create("plain");
    expect(shown("plain")).toEqual({ encryption_key_source: "none" });
    expect(node.machine.stream(0)?.encryption).toEqual({ kind: "none" });
  });
});

describe("a new wrap set", () => {
  const rewrap = async (fields: { streamId?: number; createdOp?: bigint; of?: Uint8Array } = {}) => {
    const createdOp = fields.createdOp ?? BigInt(node.machine.stream(0)?.createdOp ?? 0);
    return node.applyServer(
      streamKeyRewrap([
        {
          streamId: fields.streamId ?? 0,
          createdOp,
          keyFingerprint: await streamKeyFingerprint(fields.of ?? key),
          wrapSet: await wrapStreamKey(key, KeyOrigin.client, [kek(1), kek(2)], random),
        },
      ]),
    );
  };
  beforeEach(async () => {
    withServerKey(false);
    await create("secret", [optionRaw("encryption_key", key.slice())]);
  });

  it("takes the place of the old one, and mirrors are told", async () => {
    expect(await rewrap()).toMatchObject({ code: 0 });
    expect(parseWrapSet(storedSet(0))).toHaveLength(2);
    const fingerprints = [kek(1), kek(2)].map(({ fingerprint }) => hex(fingerprint)).sort();
    expect(shown("secret")).toMatchObject({
      encryption_key_source: "stream",
      encryption_key_fingerprint: "8441e38538cbfa57",
      encryption_kek_fingerprint: fingerprints.join(","),
    });
    const page = changes({ mode: "earliest" });
    const last = page.records.at(-1);
    expect(last && decodeChange(last)).toMatchObject({ kind: "stream_updated", body: { options: { readable: true } } });
  });

  it.each([
    ["another stream", { streamId: 1 }],
    ["an earlier stream of that id", { createdOp: 1n }],
    ["another key", { of: generated }],
  ])("of %s changes nothing", async (_what, fields) => {
    const before = storedSet(0);
    expect(await rewrap(fields)).toMatchObject({ code: 0 });
    expect(storedSet(0)).toEqual(before);
  });

  it("of a stream that was deleted and made anew without a key changes nothing", async () => {
    const createdOp = BigInt(node.machine.stream(0)?.createdOp ?? 0);
    await node.do(root, deleteStream, { streamId: id("secret") });
    await create("plain");
    expect(await rewrap({ createdOp })).toMatchObject({ code: 0 });
    expect(shown("plain")).toEqual({ encryption_key_source: "none" });
  });

  it("comes from the server alone", async () => {
    const body = encode(rewrapStreamKeys, { entries: [] });
    expect(await node.sendBody(root, Operation.RewrapStreamKeys, body)).toMatchObject({
      code: ErrorCode.InvalidCommand,
      isCommitted: false,
    });
    expect(node.applyRaw(root, Operation.RewrapStreamKeys, body).code).toBe(ErrorCode.InvalidCommand);
  });
});

describe("a stream whose options this release does not understand", () => {
  /** Such a stream comes from the log of another release. */
  const store = async (options: readonly OptionEntry[]): Promise<void> => {
    const body = encode(createStream.request, { name: "foreign", options: [...options] });
    expect(node.applyRaw(root, Operation.CreateStream, body).code).toBe(0);
    await node.stream(root, "plain");
  };
  const wrapped = async (): Promise<Uint8Array> => wrapStreamKey(key, KeyOrigin.client, [kek(0)], random);
  const marker = (text: string): OptionEntry => optionString("critical_keys", text);

  it("is served when the wrap set has no marker", async () => {
    await store([optionRaw("encryption_key_wrapped", await wrapped())]);
    expect(shown("foreign")).toMatchObject({ encryption_key_source: "stream" });
  });

  const cases: [string, () => Promise<readonly OptionEntry[]>][] = [
    ["a wrap set that is cut", async () => [optionRaw("encryption_key_wrapped", (await wrapped()).subarray(1))]],
    [
      "a wrap set of a newer version",
      async () => [
        optionRaw("encryption_key_wrapped", (await wrapped()).fill(2, 0, 1)),
        marker("encryption_key_wrapped"),
      ],
    ],
    ["a wrap set of another kind", async () => [{ ...optionRaw("encryption_key_wrapped", await wrapped()), kind: 2 }]],
    ["a marker of an unknown key", () => Promise.resolve([marker("shred_after"), optionString("shred_after", "x")])],
    ["a marker of a key that is missing", () => Promise.resolve([marker("encryption_key_wrapped")])],
    ["a marker of a key that is not critical", () => Promise.resolve([marker("critical_keys")])],
    [
      "a marker with an empty name",
      async () => [optionRaw("encryption_key_wrapped", await wrapped()), marker("encryption_key_wrapped,")],
    ],
    ["a marker that is no text", () => Promise.resolve([optionRaw("critical_keys", Uint8Array.of(0xff))])],
    [
      "a marker with a name twice",
      async () => [
        optionRaw("encryption_key_wrapped", await wrapped()),
        marker("encryption_key_wrapped,encryption_key_wrapped"),
      ],
    ],
    ["a key in clear", () => Promise.resolve([optionRaw("encryption_key", key)])],
  ];
  it.each(cases)("is not served, and nothing of it is shown: %s", async (_what, optionsOf) => {
    await store(await optionsOf());
    expect(node.machine.stream(0)?.encryption).toEqual({ kind: "unreadable" });
    expect(shown("foreign")).toBe(ErrorCode.UnsupportedCriticalOption);
    const list = node.read(root, getStreams, {});
    expect(list).toMatchObject({ streams: [{ name: "foreign", options: [], derivedOptions: [] }, { name: "plain" }] });
    const [foreign, plain] = changes({ mode: "current", token: null }).items.map(decodeItem);
    expect(foreign).toMatchObject({ body: { name: "foreign", options: { readable: false } } });
    expect(plain).toMatchObject({ body: { name: "plain", options: { readable: true } } });
    expect(shown("plain")).toEqual({ encryption_key_source: "none" });
  });
});
