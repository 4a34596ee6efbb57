import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { TrustedIssuers } from "../../src/http/auth/index.js";
import { Logging, silentConsole } from "../../src/logging/index.js";
import { Server } from "../../src/server.js";
import { read } from "../config/read.js";
import { Api } from "./messages/api-client.js";

type PrivateKey = Awaited<ReturnType<typeof generateKeyPair>>["privateKey"];

let published: { kid: string; key: PrivateKey; alg: string }[] = [];
let jwks: object[] = [];
let fetches = 0;
let status = 200;
const keyServer = createServer((_request, response) => {
  fetches++;
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ keys: jwks }));
});
let url = "";

const publish = async (...algorithms: string[]): Promise<void> => {
  published = [];
  jwks = [];
  for (const alg of algorithms) {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const kid = `${alg}-${fetches}-${published.length}`;
    published.push({ kid, key: privateKey, alg });
    jwks.push({ ...(await exportJWK(publicKey)), kid, alg });
  }
};

beforeAll(async () => {
  await new Promise<void>((resolve) => keyServer.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}/keys`;
});

const directories: string[] = [];

afterAll(async () => {
  keyServer.close();
  await Promise.all(directories.map((path) => rm(path, { recursive: true })));
});

beforeEach(() => {
  fetches = 0;
  status = 200;
});

const seconds = (): number => Math.floor(Date.now() / 1000);
const sign = (at = 0, claims: object = {}, kid = published[at]?.kid): Promise<string> =>
  new SignJWT({ iss: "https://Issuer.example/Path", aud: "iggy", exp: seconds() + 60, sub: "ignored", ...claims })
    .setProtectedHeader({ alg: published[at]?.alg ?? "", ...(kid === undefined ? {} : { kid }) })
    .sign(published[at]!.key);

let monotonic = 0;
const warnings: object[] = [];
const issuers = (): TrustedIssuers => {
  const toml = `http.jwt.trusted_issuers = [
    { issuer = "HTTPS://issuer.EXAMPLE/Path", audience = "iggy", jwks_url = "${url}", username = "alice" },
  ]`;
  const clock = { nowMicros: () => Date.now() * 1000, monotonicMillis: () => monotonic };
  return new TrustedIssuers(read({ toml }).config.http.jwt, clock, { warn: (fields) => warnings.push(fields) });
};

it("tokens with keys of RSA and of the three curves act as the user of their issuer", async () => {
  await publish("RS256", "PS384", "ES256", "ES384", "ES512");
  const trusted = issuers();
  for (let at = 0; at < published.length; at++) {
    const token = await sign(at, { jti: `token-${at}` });
    expect(await trusted.verify(token)).toMatchObject({
      username: "alice",
      id: expect.stringContaining(`token-${at}`) as string,
    });
  }
  expect(fetches).toBe(1);
});

it.each([
  ["another issuer", { iss: "https://else.example" }],
  ["the path of the issuer in another case", { iss: "https://issuer.example/path" }],
  ["another audience", { aud: "else" }],
  ["an expiry that passed", { exp: seconds() - 60 }],
  ["no expiry", { exp: undefined }],
  ["a beginning to come", { nbf: seconds() + 60 }],
])("a token with %s is worth nothing", async (_what, claims) => {
  await publish("ES256");
  expect(await issuers().verify(await sign(0, claims))).toBeUndefined();
});

it("a token that names no key, or signs with a shared secret, is worth nothing", async () => {
  await publish("ES256");
  const trusted = issuers();
  const claims = { iss: "https://issuer.example/Path", aud: "iggy", exp: seconds() + 60 };
  const unnamed = await new SignJWT(claims).setProtectedHeader({ alg: "ES256" }).sign(published[0]!.key);
  const shared = await new SignJWT(claims)
    .setProtectedHeader({ alg: "HS256", kid: published[0]!.kid })
    .sign(Buffer.alloc(64));
  expect([await trusted.verify(unnamed), await trusted.verify(shared)]).toEqual([undefined, undefined]);
});

it("keys are fetched once for all, at most every ten seconds, and those that are gone are dropped", async () => {
  await publish("ES256");
  const trusted = issuers();
  const old = await sign(0, { jti: "a" });
  const known = await Promise.all(Array.from({ length: 20 }, () => trusted.verify(old)));
  expect([known.every((found) => found !== undefined), fetches]).toEqual([true, 1]);
  await publish("ES256");
  const next = await sign(0, { jti: "b" });
  expect([await trusted.verify(next), fetches]).toEqual([undefined, 1]);
  monotonic += 10_001;
  // The cooldown of the key set counts by the clock of the machine.
  const real = Date.now;
  Date.now = () => real() + 10_001;
  try {
    expect([(await trusted.verify(next))?.username, fetches]).toEqual(["alice", 2]);
    expect([await trusted.verify(old), fetches]).toEqual([undefined, 2]);
  } finally {
    Date.now = real;
  }
});

it("keys that can't be had are asked for once in ten seconds, and refuse", async () => {
  await publish("ES256");
  status = 500;
  monotonic += 60_000;
  const trusted = issuers();
  const token = await sign();
  for (let i = 0; i < 5; i++) expect(await trusted.verify(token)).toBeUndefined();
  expect(fetches).toBe(1);
});

const startWith = async (...issuersToTrust: string[]): Promise<Server> => {
  const toml = `http.jwt.trusted_issuers = [${issuersToTrust.join(",")}]`;
  const addresses = { "tcp.address": "127.0.0.1:0", "http.address": "127.0.0.1:0" };
  const path = await mkdtemp(join(tmpdir(), "iggy-issuers-"));
  directories.push(path);
  const overrides = { path, ...addresses, "websocket.enabled": false, "quic.enabled": false };
  return Server.start({
    settings: read({ toml, overrides: { ...overrides, "logging.file_enabled": false } }),
    logging: new Logging(silentConsole),
    onFatal: (error) => {
      throw error;
    },
  });
};

const trust = (audience: string, username: string): string =>
  `{ issuer = "https://issuer.example/Path", audience = "${audience}", jwks_url = "${url}", username = "${username}" }`;

it("over HTTP such a token reads and writes as its user, and is not refreshed", async () => {
  await publish("RS256");
  const server = await startWith(trust("iggy", "alice"), trust("admin", "nobody-yet"));
  try {
    const root = await Api.signIn(server, "root", "secret");
    const token = await sign();
    const foreign = new Api(root.base, token);
    expect((await foreign.call("GET", "/users/me")).status).toBe(401);
    await root.call("POST", "/users", { body: { username: "alice", password: "secret", status: "active" } });
    const me = await foreign.call("GET", "/users/me");
    expect([me.status, me.json["username"]]).toEqual([200, "alice"]);
    expect((await foreign.call("POST", "/streams", { body: { name: "s" } })).status).toBe(403);
    const made = await foreign.call("POST", "/personal-access-tokens", { body: { name: "mine", expiry: 0 } });
    expect(made.status).toBe(200);
    const refresh = await root.call("POST", "/users/refresh-token", { body: { token } });
    expect(refresh).toMatchObject({ status: 401, json: { id: 78 } });
    // The other audience acts as another user, who does not exist.
    expect((await new Api(root.base, await sign(0, { aud: "admin" })).call("GET", "/users/me")).status).toBe(401);
  } finally {
    await server.stop();
  }
});

it("tokens that would act as the root user refuse the start", async () => {
  await expect(startWith(trust("iggy", "root"))).rejects.toThrow(/would act as the root user/);
});
