import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { text as textOf } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import { type Answer, Api, message, payloadsOf } from "./messages/api-client.js";

let server: RunningServer;
let api: Api;

beforeAll(async () => {
  server = await startServer();
  api = await Api.signIn(server);
});

afterAll(() => server.close());

/** As the official client does: every byte that is no ASCII letter or digit. */
const encoded = (name: string): string =>
  Array.from(Buffer.from(name), (byte) => {
    const character = String.fromCharCode(byte);
    return /[A-Za-z0-9]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");

const idOf = ({ json }: Answer): number => {
  if (typeof json["id"] !== "number") throw new Error("the answer has no id");
  return json["id"];
};

const names = [
  "a/b",
  "/",
  "%2F",
  "%252F",
  "%",
  "a b",
  "\u00e4",
  "a\u0308",
  "\u{1f600}",
  "orders.json",
  "/ui",
  "+",
  "+a",
  "\t",
  "a?b=c",
  "a#b",
  "a&b;c",
  ":id",
  "{id}",
  "*",
  "a:b",
  "me",
  "\u{1f600}".repeat(63),
  "x".repeat(255),
  "-_~!'()",
  "\\",
  '"',
  "topics",
  "__proto__",
];

it.each(names)("a stream and a topic named %j are made, shown, filled, renamed and deleted", async (name) => {
  const created = await api.call("POST", "/streams", { body: { name } });
  expect([created.status, created.json["name"]]).toEqual([200, name]);
  const stream = `/streams/${encoded(name)}`;
  const topic = await api.call("POST", `${stream}/topics`, { body: { name, partitions_count: 1 } });
  expect([topic.status, topic.json["name"]]).toEqual([200, name]);
  const path = `${stream}/topics/${encoded(name)}`;
  const group = await api.call("POST", `${path}/consumer-groups`, { body: { name } });
  expect([group.status, group.json["name"]]).toEqual([200, name]);
  expect((await api.call("GET", `${path}/consumer-groups/${encoded(name)}`)).json["name"]).toBe(name);
  expect((await api.send(path, [message("hello")])).status).toBe(201);
  expect(payloadsOf(await api.poll(path))).toEqual(["hello"]);
  expect((await api.call("PUT", path, { body: { name: "other" } })).status).toBe(204);
  expect((await api.call("GET", `${stream}/topics/other`)).json["name"]).toBe("other");
  expect((await api.call("DELETE", stream)).status).toBe(204);
  expect((await api.call("GET", stream)).status).toBe(404);
});

it.each([".", ".."])("a stream named %j is reached by who sends its path as it is", async (name) => {
  await api.call("POST", "/streams", { body: { name } });
  // Whoever builds URLs as browsers do takes even the encoded dots for steps of the path.
  const request = httpRequest(`${api.base}/`, {
    path: `/streams/${encoded(name)}`,
    headers: { authorization: api.authorization },
  });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  expect(JSON.parse(await textOf(response))).toMatchObject({ name });
});

it("a resource whose name is a number is reached by its id", async () => {
  const id = idOf(await api.call("POST", "/streams", { body: { name: "4294967295" } }));
  expect((await api.call("GET", "/streams/4294967295")).status).toBe(404);
  expect((await api.call("GET", `/streams/${id}`)).json["name"]).toBe("4294967295");
  // One more is no u32, and so a name.
  await api.call("POST", "/streams", { body: { name: "4294967296" } });
  expect((await api.call("GET", "/streams/4294967296")).json["name"]).toBe("4294967296");
});

it("an identifier of more than 255 bytes is refused by number", async () => {
  const answer = await api.call("GET", `/streams/${"x".repeat(256)}`);
  expect(answer).toMatchObject({ status: 400, json: { id: 6 } });
});

it.each(["/streams/%", "/streams/%zz", "/streams/%ff", "/streams/%c3%28"])("the path %s is refused", async (path) => {
  expect(await api.call("GET", path)).toMatchObject({ status: 400, json: { id: 3, field: null } });
});

it("`me` is whoever asks, and a user of that name is reached by id", async () => {
  await api.call("POST", "/users", { body: { username: "someone", password: "secret", status: "active" } });
  const someone = await Api.signIn(server, "someone", "secret");
  expect((await someone.call("GET", "/users/me")).json["username"]).toBe("someone");
  expect((await someone.call("GET", "/users/someone")).status).toBe(200);
  expect((await someone.call("GET", "/users/iggy")).status).toBe(403);
});

it.each(["logout", "login", "refresh-token"])("a user named %s is reached by its id", async (username) => {
  const made = await api.call("POST", "/users", { body: { username, password: "secret", status: "active" } });
  const id = idOf(made);
  expect((await api.call("GET", `/users/${id}`)).json["username"]).toBe(username);
  expect((await api.call("DELETE", `/users/${id}`)).status).toBe(204);
});
