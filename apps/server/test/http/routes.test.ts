import { Ajv2020 } from "ajv/dist/2020.js";
import { connect } from "@iggy/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import { Api } from "./messages/api-client.js";
import { type GoodRequest, goodRequests, tokenRoutes } from "./requests.js";

interface Operation {
  readonly security: readonly unknown[];
  readonly requestBody?: object;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly "x-iggy-right"?: string;
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}

type Document = Readonly<{ paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }>;

let server: RunningServer;
let root: Api;
let nobody: Api;
let stranger: Api;
let document: Document;
let connected: AsyncDisposable;

beforeAll(async () => {
  server = await startServer({ config: { "http.max_request_size": "100 kB" } });
  root = await Api.signIn(server);
  const user = { username: "nobody", password: "secret", status: "active" };
  await root.call("POST", "/users", { body: user });
  nobody = await Api.signIn(server, "nobody", "secret");
  stranger = new Api(root.base, "");
  document = JSON.parse((await stranger.call("GET", "/openapi.json")).text) as Document;
  // Something for `/clients/1` to show.
  connected = await connect(server.connectionString);
});

afterAll(async () => {
  await connected[Symbol.asyncDispose]();
  await server.close();
});

const operationOf = ({ route, method }: GoodRequest): Operation => {
  const operation = document.paths[route]?.[method.toLowerCase()];
  if (operation === undefined) throw new Error(`the document lacks ${method} ${route}`);
  return operation;
};

const call = (api: Api, request: GoodRequest, path = request.path): ReturnType<Api["call"]> =>
  api.call(request.method, path, request.body === undefined ? {} : { body: request.body });

const title = ({ method, route }: GoodRequest): string => `${method} ${route}`;

it("there is a good request for every route", () => {
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const known = [...goodRequests.map(title), ...tokenRoutes.map((path) => `POST ${path}`)];
  expect(routes.sort()).toEqual(known.sort());
});

describe.each(goodRequests.map((request) => [title(request), request] as const))("%s", (_title, request) => {
  const plainPath = request.path.split("?")[0] ?? "";

  it("without a token is 401, unless it is public", async () => {
    const isPublic = operationOf(request).security.length === 0;
    const answer = await call(stranger, request);
    if (isPublic) expect(answer.status).toBe(request.status);
    else expect(answer).toMatchObject({ status: 401, json: { id: 77, code: "access_token_missing", field: null } });
  });

  it("with a token that is none is 401, unless it is public", async () => {
    const isPublic = operationOf(request).security.length === 0;
    for (const token of ["x", "a.b.c", " ", "e30.e30.e30"]) {
      const answer = await call(new Api(root.base, token), request);
      expect(answer.status).toBe(isPublic ? request.status : 401);
      if (!isPublic) expect(answer.json).toMatchObject({ id: 40, code: "unauthenticated" });
    }
  });

  it("without a right is 403, where the document names one", async () => {
    const needsRight = operationOf(request)["x-iggy-right"] !== undefined;
    const answer = await call(nobody, request);
    expect(answer.status === 403, answer.text).toBe(needsRight);
    if (needsRight) expect(answer.json).toMatchObject({ id: 41, code: "unauthorized", field: null });
  });

  if (request.absent !== undefined)
    it("for something that is not there is 404", async () => {
      const answer = await call(root, request, request.absent);
      expect(answer.status, answer.text).toBe(404);
      expect(answer.json["reason"]).not.toBe("");
    });

  it("with another method is 405 and names the right ones", async () => {
    const answer = await root.call("PATCH", plainPath);
    expect(answer).toMatchObject({ status: 405, json: { id: 405, code: "method_not_allowed" } });
    expect(answer.headers.get("allow")?.split(", ")).toContain(request.method);
  });

  if (request.body !== undefined)
    it("with a body of another type is 415, with one that is no JSON 400", async () => {
      const send = (type: string | undefined, body: string): Promise<Response> =>
        fetch(root.base + request.path, {
          method: request.method,
          headers: { authorization: root.authorization, ...(type === undefined ? {} : { "content-type": type }) },
          body: Buffer.from(body),
        });
      for (const type of ["text/plain", "application/x-www-form-urlencoded", undefined]) {
        const answer = await send(type, JSON.stringify(request.body));
        expect([answer.status, type]).toEqual([415, type]);
        expect(await answer.json()).toMatchObject({ id: 415, field: null });
      }
      for (const body of ["", "{", "nonsense", '{"a":1,"a":2}', "[".repeat(100), "\ufffd\u0000"]) {
        const answer = await send("application/json", body);
        expect([answer.status, body]).toEqual([400, body]);
        expect(await answer.json()).toMatchObject({ id: 3, code: "invalid_command" });
      }
    });

  if (request.body !== undefined)
    it("with a body above the limit is 413, and the connection closes", async () => {
      const answer = await root.call(request.method, request.path, { body: { padding: "x".repeat(110_000) } });
      expect(answer).toMatchObject({ status: 413, json: { id: 413, code: "payload_too_large" } });
      expect(answer.headers.get("connection")).toBe("close");
    });

  if (request.badBodies !== undefined)
    it("with a wrong body is refused by number", async () => {
      for (const [body, id] of request.badBodies ?? []) {
        const answer = await root.call(request.method, request.path, { body });
        expect({ body, status: answer.status, id: answer.json["id"] }).toEqual({ body, status: 400, id });
      }
    });

  if (request.badQueries !== undefined)
    it("with a wrong query is 400", async () => {
      for (const query of request.badQueries ?? []) {
        const answer = await call(root, request, `${plainPath}?${query}`);
        expect({ query, status: answer.status }).toEqual({ query, status: 400 });
      }
    });

  it("succeeds as the document says", async () => {
    const answer = await call(root, request);
    expect(answer.status, answer.text).toBe(request.status);
    const { content } = operationOf(request).responses[String(request.status)] ?? {};
    const isPublic = operationOf(request).security.length === 0;
    expect(answer.headers.get("iggy-view")).toBe(isPublic && request.route !== "/users/login" ? null : "0");
    if (content === undefined) {
      expect(answer.text).toBe("");
      return;
    }
    const [[type, { schema }] = ["", { schema: {} }]] = Object.entries(content);
    expect(answer.headers.get("content-type")).toBe(type);
    if (type !== "application/json") return;
    const validate = new Ajv2020({ strict: false }).compile(schema);
    expect(validate(JSON.parse(answer.text)), JSON.stringify(validate.errors)).toBe(true);
  });
});
