import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type JsonObject, type JsonValue, parseJson, stringifyJson } from "../../../src/http/json/index.js";
import { type RunningServer, startServer } from "../../start-server.js";
import { Api, message, partitionId } from "./api-client.js";
import { isArray, isObject } from "./json-kinds.js";
import { resolve, schemaFault } from "./json-schema.js";

/** Requests for each operation of the document; more on demand. */
const REQUESTS = Number(process.env["IGGY_TEST_API_REQUESTS"] ?? 12);
/** Of these one request says it all: they take long, or nothing that could be varied. */
const COSTLY = new Set(["post_snapshot", "post_users_login"]);
/** Ending the session of the run, or its user, ends the run. */
const FATAL = new Set(["delete_users_logout"]);

const NAMES = ["known", "0", "1", "unknown", "a/b", "..", "4294967296", "%", "ä", "me", "topic", "x".repeat(256)];

interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly JsonObject[];
  readonly body: JsonObject | undefined;
  readonly responses: JsonObject;
}

interface Request {
  readonly path: string;
  readonly body: string | undefined;
}

let server: RunningServer;
let api: Api;
let document: JsonObject;
let operations: readonly Operation[];

beforeAll(async () => {
  server = await startServer({ config: { "sharding.deferred_poll_max_wait": "5 ms" } });
  api = await Api.signIn(server);
  document = (await api.call("GET", "/openapi.json")).json;
  operations = operationsOf(document);
});
afterAll(() => server.close());

/** What names in paths can find, whatever the requests before it renamed and deleted. */
async function restore(): Promise<void> {
  const topic = "/streams/known/topics/known";
  await api.call("POST", "/streams", { body: { name: "known" } });
  await api.call("POST", "/streams/known/topics", { body: { name: "known", partitions_count: 2 } });
  await api.call("POST", `${topic}/partitions`, { body: { partitions_count: 1 } });
  await api.call("POST", `${topic}/consumer-groups`, { body: { name: "known" } });
  await api.send(topic, [message("a"), message("b")]);
  await api.call("PUT", `${topic}/consumer-offsets`, { body: { consumer_id: "known", offset: 0 } });
}

function operationsOf({ paths }: JsonObject): readonly Operation[] {
  return Object.entries(isObject(paths) ? paths : {}).flatMap(([path, methods]) =>
    Object.entries(isObject(methods) ? methods : {}).map(([method, operation]): Operation => {
      const { operationId, parameters, requestBody, responses } = isObject(operation) ? operation : {};
      return {
        id: typeof operationId === "string" ? operationId : "",
        method: method.toUpperCase(),
        path,
        parameters: isArray(parameters) ? parameters.filter(isObject) : [],
        body: schemaOf(requestBody),
        responses: isObject(responses) ? responses : {},
      };
    }),
  );
}

/** The schema of JSON content. */
function schemaOf(holder: JsonValue | undefined): JsonObject | undefined {
  const content = isObject(holder) ? holder["content"] : undefined;
  const json = isObject(content) ? content["application/json"] : undefined;
  const schema = isObject(json) ? json["schema"] : undefined;
  return isObject(schema) ? schema : undefined;
}

/** Anything at all, for where a schema asks for something else. */
const junk: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>(null, true, -1, 1.5, "", "7", [], {}, 2n ** 64n, 2n ** 128n, { __proto__x: 1 }),
  fc.string({ unit: "grapheme", maxLength: 8 }),
);

/** Values of a schema, now and then another one. */
function valueOf(given: JsonValue | undefined): fc.Arbitrary<JsonValue> {
  const schema = resolve(isObject(given) ? given : {}, document);
  return fc.oneof({ weight: 9, arbitrary: soundValue(schema) }, { weight: 1, arbitrary: junk });
}

function soundValue(schema: JsonObject): fc.Arbitrary<JsonValue> {
  const { anyOf, oneOf, type, enum: words, properties, required, items, contentEncoding } = schema;
  const options = isArray(anyOf) ? anyOf : isArray(oneOf) ? oneOf : undefined;
  if (options !== undefined) return fc.oneof(...options.map(valueOf));
  if (isArray(words)) return fc.constantFrom(...words);
  switch (type) {
    case "object": {
      const members = Object.entries(isObject(properties) ? properties : {});
      const model = Object.fromEntries(members.map(([name, member]) => [name, valueOf(member)]));
      const needed = isArray(required) ? required.filter((name) => typeof name === "string") : [];
      return members.length === 0
        ? fc.dictionary(fc.constantFrom("message_expiry", "durability", "name", "reset", "x"), junk, { maxKeys: 2 })
        : fc.record(model, { requiredKeys: needed });
    }
    case "array":
      return fc.array(valueOf(items), { maxLength: 3 });
    case "integer":
    case "number":
      return integerOf(schema);
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    default:
      return contentEncoding === "base64"
        ? fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes).toString("base64"))
        : fc.oneof(fc.constantFrom(...NAMES), fc.string({ unit: "grapheme", maxLength: 12 }));
  }
}

/** Small ones, for what is made in that number, and the bounds. */
function integerOf({ maximum }: JsonObject): fc.Arbitrary<JsonValue> {
  const small = fc.nat({ max: 3 });
  if (typeof maximum !== "number" && typeof maximum !== "bigint") return small;
  return fc.oneof(
    { weight: 4, arbitrary: small },
    { weight: 1, arbitrary: fc.constantFrom<JsonValue>(BigInt(maximum), BigInt(maximum) + 1n) },
  );
}

const asText = (value: JsonValue): string => (typeof value === "string" ? value : stringifyJson(value));

function requestOf({ path, parameters, body }: Operation): fc.Arbitrary<Request> {
  const pieces = parameters.map((parameter) => {
    const isPath = parameter["in"] === "path";
    const isName = isPath && isObject(parameter["schema"]) && parameter["schema"]["type"] === "string";
    const value = isName
      ? fc.oneof(fc.constant<JsonValue>("known"), fc.constantFrom(...NAMES))
      : valueOf(parameter["schema"]);
    return isPath ? value : fc.option(value, { nil: undefined });
  });
  return fc
    .tuple(fc.tuple(...pieces), body === undefined ? fc.constant(undefined) : valueOf(body))
    .map(([values, json]) => {
      const query = new URLSearchParams();
      let url = path;
      for (const [i, value] of values.entries()) {
        const { name, in: place } = parameters[i] ?? {};
        if (value === undefined || typeof name !== "string") continue;
        if (place === "path") url = url.replace(`{${name}}`, encodeURIComponent(asText(value)) || "0");
        else query.append(name, asText(value));
      }
      return {
        path: query.size === 0 ? url : `${url}?${query.toString()}`,
        body: json === undefined ? undefined : stringifyJson(json),
      };
    });
}

/** What is wrong with the answer to a request; undefined when the document allows it. */
async function answerFault(
  operation: Operation,
  { path, body }: Request,
  served: Set<string>,
): Promise<string | undefined> {
  const response = await fetch(`${api.base}${path}`, {
    method: operation.method,
    headers: {
      authorization: api.authorization,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  const said = `${operation.method} ${path} ${body ?? ""} got ${response.status} ${text.slice(0, 300)}`;
  // A path whose dots the client resolved is another one.
  if (!isSamePath(operation.path, new URL(`${api.base}${path}`).pathname)) return undefined;
  const described = operation.responses[String(response.status)];
  if (!isObject(described)) return `${said}, a status that the document lacks`;
  if (response.status === 500) return said;
  if (response.ok) served.add(operation.id);
  const schema = schemaOf(described);
  if (schema === undefined) return undefined;
  const fault = schemaFault(parseJson(text), schema, document);
  return fault === undefined ? undefined : `${said}: ${fault}`;
}

const isSamePath = (template: string, path: string): boolean =>
  new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(path);

describe("a request that is made from the document of the API", () => {
  it("gets an answer that the document describes", async () => {
    expect(operations.length).toBeGreaterThan(40);
    const faults: string[] = [];
    const served = new Set<string>();
    for (const operation of operations) {
      if (FATAL.has(operation.id)) continue;
      await restore();
      const numRuns = COSTLY.has(operation.id)
        ? 2
        : operation.parameters.length === 0 && operation.body === undefined
          ? 1
          : REQUESTS;
      await fc.assert(
        fc.asyncProperty(requestOf(operation), async (request) => {
          const fault = await answerFault(operation, request, served);
          if (fault !== undefined) faults.push(fault);
        }),
        { numRuns, endOnFailure: true },
      );
    }
    expect(faults).toEqual([]);
    // Refusals alone would say little.
    expect(served.size).toBeGreaterThan(operations.length / 2);
  }, 240_000);

  it("as it is meant to be succeeds", async () => {
    await restore();
    const body = { partitioning: partitionId(0), messages: [message("x")] };
    const send = operations.find(({ path, method }) => path.endsWith("/messages") && method === "POST");
    expect(schemaFault(body, send?.body, document)).toBeUndefined();
    expect((await api.call("POST", "/streams/known/topics/known/messages", { body })).status).toBe(201);
  });
});
