import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import { Api } from "./messages/api-client.js";

interface Captured {
  readonly call: string;
  readonly requests: readonly {
    readonly method: string;
    readonly path: string;
    readonly query: string | null;
    readonly headers: readonly (readonly [string, string])[];
    readonly body: string;
  }[];
}

const file = new URL("../../../../packages/protocol/test/vectors/http_captures.json", import.meta.url);
const { calls } = JSON.parse(readFileSync(file, "utf8")) as { calls: Captured[] };
const requests = calls.flatMap(({ call, requests: sent }) => sent.map((request) => ({ call, ...request })));

let server: RunningServer;
let api: Api;

beforeAll(async () => {
  server = await startServer();
  api = await Api.signIn(server);
  await api.call("POST", "/streams", { body: { name: "any" } });
});

afterAll(() => server.close());

it.each(requests)("$call: $method $path is understood", async ({ method, path, query, headers, body }) => {
  const fields = Object.fromEntries(headers.filter(([name]) => name !== "authorization"));
  const response = await fetch(`${api.base}${path}${query === null ? "" : `?${query}`}`, {
    method,
    headers: { ...fields, authorization: api.authorization },
    ...(body === "" ? {} : { body }),
  });
  const text = await response.text();
  // What it names may not be here; the request itself has a route, and every part of it can be read.
  expect([405, 413, 415, 500]).not.toContain(response.status);
  if (response.status < 400) return;
  const refusal = JSON.parse(text) as { id: number; reason: string };
  expect(refusal, text).not.toMatchObject({ id: 3 });
  expect(refusal.reason).not.toContain("there is nothing at");
});
