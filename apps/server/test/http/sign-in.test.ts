import { createHmac } from "node:crypto";
import { decodeJwt, decodeProtectedHeader, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import { objectMembers } from "../../src/http/json/index.js";
import { type Answer, Api } from "./messages/api-client.js";

const SECRET = "a secret of the tests, long enough for any of the algorithms: 0123456789abcdef";

let server: RunningServer;
let root: Api;

beforeAll(async () => {
  server = await startServer({ config: { "http.jwt.encoding_secret": SECRET } });
  root = await Api.signIn(server);
});

afterAll(() => server.close());

const tokenOf = ({ json }: Answer): string => {
  const { token } = objectMembers(json["access_token"]);
  if (typeof token !== "string") throw new Error("the answer has no token");
  return token;
};

const login = (username: string, password: string): Promise<Answer> =>
  new Api(root.base, "").call("POST", "/users/login", { body: { username, password } });

async function makeUser(username: string): Promise<void> {
  const body = { username, password: "secret", status: "active" };
  expect((await root.call("POST", "/users", { body })).status).toBe(200);
}

const works = async (token: string): Promise<boolean> =>
  (await new Api(root.base, token).call("GET", "/users/me")).status === 200;

describe("a login", () => {
  it("answers whose token it is, the token, and its expiry in seconds", async () => {
    const before = Math.floor(Date.now() / 1000);
    const answer = await login("iggy", "iggy");
    expect(answer.headers.get("iggy-view")).toBe("0");
    const token = tokenOf(answer);
    const { jti, sub, iss, aud, iat = 0, nbf, exp = 0 } = decodeJwt(token);
    expect(answer.json).toEqual({ user_id: 0, access_token: { token, expiry: exp } });
    expect(decodeProtectedHeader(token).alg).toBe("HS256");
    expect({ sub, iss, aud }).toEqual({ sub: "0", iss: "iggy.apache.org", aud: "iggy.apache.org" });
    expect(jti).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(iat).toBeGreaterThanOrEqual(before);
    expect({ nbf, exp }).toEqual({ nbf: iat, exp: iat + 3600 });
    expect(decodeJwt(tokenOf(await login("iggy", "iggy"))).jti).not.toBe(jti);
  });

  it("refuses unknown users, wrong passwords, impossible lengths and inactive users alike", async () => {
    await makeUser("sleeper");
    expect((await root.call("PUT", "/users/sleeper", { body: { status: "inactive" } })).status).toBe(204);
    const attempts = [
      ["nobody", "secret"],
      ["iggy", "wrong"],
      ["i", "secret"],
      ["iggy", "x".repeat(200)],
      ["sleeper", "secret"],
    ] as const;
    const answers = await Promise.all(attempts.map(([username, password]) => login(username, password)));
    for (const answer of answers) expect([answer.status, answer.text]).toEqual([400, answers[0]?.text]);
    expect(answers[0]?.json).toMatchObject({ id: 42, code: "invalid_credentials" });
  });
});

describe("an access token", () => {
  const claims = { jti: "1", sub: "0", iss: "iggy.apache.org", aud: "iggy.apache.org" };
  const now = (): number => Math.floor(Date.now() / 1000);
  const sign = (extra: object, secret = SECRET, alg = "HS256"): Promise<string> =>
    new SignJWT({ ...claims, iat: now(), exp: now() + 60, ...extra })
      .setProtectedHeader({ alg })
      .sign(Buffer.from(secret));

  it("of our key holds, with the audience as text or as a list", async () => {
    expect(await works(await sign({}))).toBe(true);
    expect(await works(await sign({ aud: ["other", "iggy.apache.org"] }))).toBe(true);
  });

  it.each([
    ["another key", {}, "another secret that is long enough for the algorithm"],
    ["another algorithm", {}, SECRET, "HS512"],
    ["another issuer", { iss: "else" }],
    ["another audience", { aud: "else" }],
    ["no audience", { aud: undefined }],
    ["no id", { jti: undefined }],
    ["no expiry", { exp: undefined }],
    ["an expiry that passed", { exp: now() - 30 }],
    ["a beginning to come", { nbf: now() + 60 }],
    ["a user that does not exist", { sub: "77" }],
    ["a user by name", { sub: "iggy" }],
    ["an earlier user of the same id", { user_created_at: "1" }],
    ["an age above that of the user", { iat: 1 }],
  ] as const)("with %s does not", async (_what, extra, secret?: string, alg?: string) => {
    const token = await sign(extra, secret, alg);
    const answer = await new Api(root.base, token).call("GET", "/streams");
    expect(answer).toMatchObject({ status: 401, json: { id: 40 } });
  });

  it("without a signature does not, whatever it claims", async () => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const body = part({ ...claims, iat: now(), exp: now() + 60 });
    const header = part({ alg: "none" });
    const mac = createHmac("sha256", "").update(`${header}.${body}`).digest("base64url");
    for (const token of [`${header}.${body}.`, `${header}.${body}.${mac}`]) expect(await works(token)).toBe(false);
  });

  it("is taken behind `Bearer` and one space only", async () => {
    const token = await sign({});
    for (const [authorization, status] of [
      [`Bearer ${token}`, 200],
      [`bearer ${token}`, 401],
      [`Bearer  ${token}`, 401],
      [`Basic ${token}`, 401],
      [token, 401],
    ] as const) {
      const answer = await new Api(root.base, "").call("GET", "/users/me", { headers: { authorization } });
      expect([authorization, answer.status]).toEqual([authorization, status]);
    }
  });

  it("holds within the clock skew", async () => {
    expect(await works(await sign({ exp: now() - 2 }))).toBe(true);
  });

  it("ends with its user", async () => {
    await makeUser("leaver");
    const token = tokenOf(await login("leaver", "secret"));
    expect(await works(token)).toBe(true);
    await root.call("PUT", "/users/leaver", { body: { status: "inactive" } });
    expect(await works(token)).toBe(false);
    await root.call("PUT", "/users/leaver", { body: { status: "active" } });
    expect(await works(token)).toBe(true);
    await root.call("DELETE", "/users/leaver");
    expect(await works(token)).toBe(false);
    // The next user gets the same id.
    await makeUser("newcomer");
    expect(await works(token)).toBe(false);
  });

  it("is exchanged for a second one, and the first still holds", async () => {
    const first = tokenOf(await login("iggy", "iggy"));
    const refresh = (token: string): Promise<Answer> =>
      new Api(root.base, "").call("POST", "/users/refresh-token", { body: { token } });
    const answer = await refresh(first);
    expect(answer.status).toBe(200);
    const second = tokenOf(answer);
    expect(second).not.toBe(first);
    expect([await works(first), await works(second)]).toEqual([true, true]);
    for (const token of ["", "garbage", "a.b.c", await sign({}, "another secret that is long enough")]) {
      expect(await refresh(token)).toMatchObject({ status: 401, json: { id: 40 } });
    }
  });
});

describe("a personal access token", () => {
  const create = async (name: string, expiry: bigint | number = 0): Promise<string> => {
    const { json } = await root.call("POST", "/personal-access-tokens", { body: { name, expiry } });
    if (typeof json["token"] !== "string") throw new Error("no token was made");
    return json["token"];
  };
  const exchange = (token: string): Promise<Answer> =>
    new Api(root.base, "").call("POST", "/personal-access-tokens/login", { body: { token } });

  it("is a credential until it is deleted", async () => {
    const token = await create("deleted-soon");
    expect(Buffer.from(token, "base64")).toHaveLength(50);
    expect(await works(token)).toBe(true);
    const answer = await exchange(token);
    expect([answer.status, answer.json["user_id"]]).toEqual([200, 0]);
    expect(await works(tokenOf(answer))).toBe(true);
    await root.call("DELETE", "/personal-access-tokens/deleted-soon");
    expect(await works(token)).toBe(false);
    expect(await exchange(token)).toMatchObject({ status: 401, json: { id: 53 } });
  });

  it("ends with its expiry", async () => {
    const token = await create("short", 300_000);
    expect(await works(token)).toBe(true);
    await expect.poll(() => works(token), { timeout: 5000 }).toBe(false);
    expect(await exchange(token)).toMatchObject({ status: 401, json: { id: 53 } });
  });

  it("can't be exchanged while its user is inactive, nor refreshed", async () => {
    await makeUser("holder");
    const holder = await Api.signIn(server, "holder", "secret");
    const made = await holder.call("POST", "/personal-access-tokens", { body: { name: "mine", expiry: 0 } });
    const token = typeof made.json["token"] === "string" ? made.json["token"] : "";
    const refresh = await new Api(root.base, "").call("POST", "/users/refresh-token", { body: { token } });
    expect(refresh).toMatchObject({ status: 401, json: { id: 40 } });
    await root.call("PUT", "/users/holder", { body: { status: "inactive" } });
    expect(await exchange(token)).toMatchObject({ status: 400, json: { id: 47 } });
    expect(await works(token)).toBe(false);
  });

  it("is listed by name, without its text", async () => {
    await create("zebra");
    await create("adder", 10n ** 15n);
    const { text } = await root.call("GET", "/personal-access-tokens");
    const names = (JSON.parse(text) as { name: string; expiry_at: number | null }[]).map(({ name }) => name);
    expect(names).toEqual([...names].sort());
    expect(names).toContain("zebra");
  });
});

describe("other algorithms and lives", () => {
  it.each(["HS384", "HS512"])("%s signs and verifies", async (algorithm) => {
    await using other = await startServer({
      config: {
        "http.jwt.algorithm": algorithm,
        "http.jwt.decoding_secret": Buffer.from(SECRET).toString("base64"),
        "http.jwt.use_base64_secret": true,
        "http.jwt.access_token_expiry": "never_expire",
      },
    });
    const answer = await new Api(`http://${other.addresses.http ?? ""}`, "").call("POST", "/users/login", {
      body: { username: "iggy", password: "iggy" },
    });
    const token = tokenOf(answer);
    const { iat = 0, exp } = decodeJwt(token);
    expect([decodeProtectedHeader(token).alg, exp]).toEqual([algorithm, iat + 1_000_000_000]);
    const api = new Api(`http://${other.addresses.http ?? ""}`, token);
    expect((await api.call("GET", "/streams")).status).toBe(200);
  });

  it("without a secret, tokens die with the process", async () => {
    const sign = async (): Promise<string> => {
      await using other = await startServer();
      return (await Api.signIn(other)).authorization.slice("Bearer ".length);
    };
    const token = await sign();
    await using next = await startServer();
    const api = new Api(`http://${next.addresses.http ?? ""}`, token);
    expect((await api.call("GET", "/streams")).status).toBe(401);
  });
});
