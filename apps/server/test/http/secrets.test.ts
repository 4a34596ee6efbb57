import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Logging, silentConsole } from "../../src/logging/index.js";
import { Server } from "../../src/server.js";
import { read } from "../config/read.js";
import { Api } from "./messages/api-client.js";

const SIGNING_SECRET = "signing-secret-5c9e";

it("passwords, tokens and keys reach neither the log nor a file, whatever comes of a request", async () => {
  const path = await mkdtemp(join(tmpdir(), "iggy-secrets-"));
  const server = await Server.start({
    settings: read({
      overrides: {
        path,
        "tcp.address": "127.0.0.1:0",
        "http.address": "127.0.0.1:0",
        "http.jwt.encoding_secret": SIGNING_SECRET,
        "logging.level": "trace",
        "websocket.enabled": false,
        "quic.enabled": false,
      },
    }),
    logging: new Logging(silentConsole),
    onFatal: (error) => {
      throw error;
    },
  });
  const secrets = [SIGNING_SECRET, "user-password-77ab", "wrong-password-91cd"];
  try {
    const root = await Api.signIn(server, "root", "secret");
    const stranger = new Api(root.base, "");
    secrets.push(root.authorization.slice("Bearer ".length));
    const user = { username: "alice", password: "user-password-77ab", status: "active" };
    await root.call("POST", "/users", { body: user });
    await root.call("POST", "/users", { body: { ...user, status: 5 } });
    await stranger.call("POST", "/users/login", { body: { username: "alice", password: "wrong-password-91cd" } });
    await stranger.call("POST", "/users/login", { body: { username: "wrong-password-91cd" } });
    const made = await root.call("POST", "/personal-access-tokens", { body: { name: "mine", expiry: 0 } });
    const token = made.json["token"];
    if (typeof token !== "string") throw new Error("no token was made");
    secrets.push(token);
    await stranger.call("POST", "/personal-access-tokens/login", { body: { token } });
    await new Api(root.base, token).call("GET", "/users/me");
    await stranger.call("POST", "/users/refresh-token", { body: { token } });
    await stranger.call("GET", `/streams/${encodeURIComponent(token)}`);
  } finally {
    await server.stop();
  }
  const files = await readdir(path, { recursive: true, withFileTypes: true });
  const contents = await Promise.all(
    files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), "latin1")),
  );
  expect(contents.join("")).toContain("signed in over HTTP");
  for (const secret of secrets)
    expect(
      contents.some((content) => content.includes(secret)),
      secret,
    ).toBe(false);
  await rm(path, { recursive: true });
});
