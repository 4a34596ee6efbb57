import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readCertificate } from "@iggy/quic";
import { ping } from "@iggy/protocol";
import { generate } from "selfsigned";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openQuicListener, type QuicListenerDeps } from "../../../src/net/quic/index.js";
import { Reception } from "../../../src/net/reception.js";
import type { ConnectionHandler } from "../../../src/net/connection.js";
import { ConnectionTable } from "../../../src/sessions/connection-table.js";
import { systemClock } from "../../../src/system-clock.js";
import { read } from "../../config/read.js";
import { startServer } from "../../start-server.js";
import { portOf, RawQuic, said, title, without } from "./raw-quic.js";

const handler: ConnectionHandler = { frame: () => undefined, malformed: () => undefined, closed: () => undefined };

interface Told {
  readonly level: "info" | "warn";
  readonly message: string;
}

interface Files {
  readonly certFile: string;
  readonly keyFile: string;
}

function depsOf(files?: Files): { deps: QuicListenerDeps; told: Told[] } {
  const defaults = read({ overrides: { "quic.address": "127.0.0.1:0" } }).config;
  const certificate = files === undefined ? defaults.quic.certificate : { selfSigned: false, ...files };
  const config = { ...defaults, quic: { ...defaults.quic, certificate } };
  const told: Told[] = [];
  const reception = new Reception({
    messageBus: config.messageBus,
    connections: new ConnectionTable(),
    handler,
    clock: systemClock,
  });
  const log = {
    info: (_: object, message: string) => told.push({ level: "info", message }),
    warn: (_: object, message: string) => told.push({ level: "warn", message }),
  };
  return { deps: { config, reception, isAskedFor: false, log }, told };
}

describe("a server without the native part of QUIC", () => {
  const probe = () => ({ available: false, reason: "there is no native addon", remedy: "build it" });
  const missing = { probe, readCertificate, QuicListener: { listen: () => expect.unreachable() } };

  it.each([
    [false, "info"],
    [true, "warn"],
  ] as const)("goes on and says so in one line (asked for: %s)", async (isAskedFor, level) => {
    const { deps, told } = depsOf();
    const load = (): Promise<never> => Promise.resolve(missing as never);
    expect(await openQuicListener({ ...deps, isAskedFor, load })).toBeUndefined();
    expect(told).toEqual([{ level, message: "QUIC is off: there is no native addon; build it" }]);
  });

  it("also when the package itself can't be loaded", async () => {
    const { deps, told } = depsOf();
    const load = (): Promise<never> => Promise.reject(new Error("no such package"));
    expect(await openQuicListener({ ...deps, load })).toBeUndefined();
    expect(told).toEqual([{ level: "info", message: "QUIC is off: @iggy/quic can't be loaded: no such package" }]);
  });
});

describe.skipIf(without)(`certificates of the listener ${title}`, () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "iggy-quic-"));
    const made = await generate([{ name: "commonName", value: "localhost" }], { keyType: "ec", curve: "P-384" });
    await write("p384-cert.pem", made.cert);
    await write("p384-key.pem", made.private);
    const { privateKey } = generateKeyPairSync("ec", {
      namedCurve: "P-256",
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "secret" },
    });
    await write("encrypted.pem", privateKey);
  });
  afterAll(() => rm(folder, { recursive: true }));

  const write = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);
  const filesOf = (cert: string, key: string): Files => ({ certFile: join(folder, cert), keyFile: join(folder, key) });

  it("one that is made for the run tells nobody anything", async () => {
    const { deps, told } = depsOf();
    const listener = await openQuicListener(deps);
    expect(listener?.port).toBeGreaterThan(0);
    expect(told).toEqual([]);
    await listener?.close();
  });

  it("a key of another kind than P-256 serves, with one warning", async () => {
    const { deps, told } = depsOf(filesOf("p384-cert.pem", "p384-key.pem"));
    const listener = await openQuicListener(deps);
    expect(told.map(({ level }) => level)).toEqual(["warn"]);
    expect(told[0]?.message).toMatch(/P-384: .*official clients in their default mode can't.* P-256/);
    const link = await RawQuic.connect(listener?.port ?? 0);
    link.client.close();
    await listener?.close();
  });

  it.each([
    ["p384-cert.pem", "encrypted.pem", /quic\.certificate \(.*\): the private key is encrypted/],
    ["p384-key.pem", "p384-key.pem", /holds no PEM certificate/],
  ])("%s with %s refuses the start by name", async (cert, key, message) => {
    const files = filesOf(cert, key);
    await expect(openQuicListener(depsOf(files).deps)).rejects.toThrow(message);
    const config = {
      "quic.certificate.self_signed": false,
      "quic.certificate.cert_file": files.certFile,
      "quic.certificate.key_file": files.keyFile,
    };
    await expect(startServer({ config })).rejects.toThrow(message);
  });

  it("a taken port refuses the start, with the address", async () => {
    await using first = await startServer();
    const taken = first.addresses.quic ?? "";
    await expect(startServer({ config: { "quic.address": taken } })).rejects.toThrow(`EADDRINUSE ${taken}`);
  });

  it("switched off it is not there; on IPv6 it is", async () => {
    await using off = await startServer({ config: { "quic.enabled": false } });
    expect(off.addresses.quic).toBeUndefined();
    await using six = await startServer({ config: { "quic.address": "[::1]:0" } });
    const link = await RawQuic.open(portOf(six.addresses.quic), { host: "::1" });
    expect(said(await link.ask(ping, {}))).toBe("ok");
    link.client.close();
  });

  it("a server that stops ends its connections with the code of a shutdown", async () => {
    const server = await startServer();
    const link = await RawQuic.open(portOf(server.addresses.quic));
    await server.close();
    expect(await link.closed).toMatchObject({ code: "QUIC_CLOSED", detail: 0x1003 });
  });
});
