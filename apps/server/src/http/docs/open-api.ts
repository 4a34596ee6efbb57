import type { JsonObject, JsonValue, Shape } from "../json/index.js";
import type { Access, Answer, Route } from "../route/index.js";

const ERRORS = [
  [400, "Refused; `id` is the number of the error."],
  [401, "No valid credential."],
  [403, "The user lacks the permission."],
  [404, "There is nothing of this name."],
  [413, "The body is larger than `http.max_request_size`."],
  [415, "The body is no `application/json`."],
  [429, "Too many writes of this session are under way; send it again after `retry-after`."],
  [503, "Not taken; send it again after `retry-after`."],
  [504, "The outcome is unknown: it may still take effect."],
] as const;

/** The document of the API in the words of OpenAPI 3.1, from the table of its routes. */
export function openApi(routes: readonly Route[], version: string): JsonObject {
  const paths: Record<string, Record<string, JsonValue>> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route);
  return {
    openapi: "3.1.0",
    info: {
      title: "Iggy HTTP API",
      version,
      description:
        "Integers of 64 and 128 bits are JSON numbers with all their digits. Ask with `Accept: application/json; " +
        "integers=string` for decimal texts; bodies may always have them as texts. Timestamps and durations are microseconds.",
    },
    paths,
    components: {
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description: "An access token of a login, or a personal access token.",
        },
      },
      schemas: {
        Error: {
          type: "object",
          required: ["id", "code", "reason", "field"],
          properties: {
            id: { type: "integer", description: "Number of the error; the status for errors of HTTP itself." },
            code: { type: "string" },
            reason: { type: "string" },
            field: { anyOf: [{ type: "string" }, { type: "null" }] },
          },
        },
      },
    },
  };
}

function operation(route: Route): JsonObject {
  const parameters = [...parametersOf("path", route.params), ...parametersOf("query", route.query)];
  const description = [route.description, permissionText(route.access)].filter((text) => text !== undefined).join(" ");
  return {
    tags: [route.tag],
    summary: route.summary,
    operationId: operationId(route),
    ...(description === "" ? {} : { description }),
    security: route.access.kind === "public" ? [] : [{ token: [] }],
    ...(route.access.kind === "right" ? { "x-iggy-right": route.access.right } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: route.body.schema } } } }),
    responses: { ...answers(route.answers), ...errors(route) },
  };
}

/** `get_streams_by_stream_id_topics` */
const operationId = ({ method, path }: Route): string =>
  `${method.toLowerCase()}${path.replace(/\{(\w+)\}/g, "by_$1").replace(/[^a-z0-9_]+/gi, "_")}`;

/** The right that a route asks for, in the words of people. */
export function permissionText(access: Access): string | undefined {
  if (access.kind !== "right") return undefined;
  const words = access.right.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return `Needs the right to ${words}${access.orSelf ? ", except about oneself" : ""}.`;
}

function parametersOf(place: "path" | "query", shape: Shape<unknown> | undefined): JsonObject[] {
  const properties = membersOf(shape?.schema["properties"]);
  const required = shape?.schema["required"];
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: place,
    required: place === "path" || (Array.isArray(required) && required.includes(name)),
    schema,
  }));
}

function answers(given: readonly Answer[]): JsonObject {
  return Object.fromEntries(
    given.map(({ status, description, content, headers }) => [
      String(status),
      {
        description,
        ...(content === undefined ? {} : { content: { [content.type]: { schema: content.schema } } }),
        ...(Object.keys(headers).length === 0 ? {} : { headers: headersOf(headers) }),
      },
    ]),
  );
}

const headersOf = (headers: Readonly<Record<string, string>>): JsonObject =>
  Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: "string" } }]),
  );

/** Errors that a route may answer; those of its own answers are not repeated. */
function errors({ access, answers: given, params, body, place, method }: Route): JsonObject {
  const own = new Set(given.map(({ status }) => status));
  const isWrite = method !== "GET";
  const depends: Readonly<Record<number, boolean>> = {
    // Anybody may sign in, though not with anything.
    401: access.kind !== "public" || body !== undefined,
    403: access.kind === "right",
    404: params !== undefined,
    413: body !== undefined,
    415: body !== undefined,
    429: place === "partition" && isWrite,
    504: place === "partition" || isWrite,
  };
  return Object.fromEntries(
    ERRORS.filter(([status]) => !own.has(status) && depends[status] !== false).map(([status, description]) => [
      String(status),
      { description, content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } } },
    ]),
  );
}

const membersOf = (value: JsonValue | undefined): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
