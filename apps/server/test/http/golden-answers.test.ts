import { readFileSync } from "node:fs";
import { type Command, decodeResponse, ErrorCode, IggyError } from "@iggy/protocol";
import { describe, expect, it } from "vitest";
import type { Caller, Commands } from "../../src/http/commands/index.js";
import { type JsonObject, parseJson, stringifyJson } from "../../src/http/json/index.js";
import { consumerGroupRoutes } from "../../src/http/resources/consumer-groups.js";
import { metadataChangeRoutes } from "../../src/http/resources/metadata-changes.js";
import { nodeRoutes } from "../../src/http/resources/node.js";
import { personalAccessTokenRoutes } from "../../src/http/resources/personal-access-tokens.js";
import { streamRoutes } from "../../src/http/resources/streams.js";
import { topicRoutes } from "../../src/http/resources/topics.js";
import { userRoutes } from "../../src/http/resources/users.js";
import { systemClock } from "../../src/system-clock.js";

const load = <T>(file: string): T =>
  JSON.parse(
    readFileSync(new URL(`../../../../packages/protocol/test/vectors/${file}.json`, import.meta.url), "utf8"),
  ) as T;

const { cases } = load<{ cases: { response: string; name: string; hex: string }[] }>("responses");
const { responses } = load<{ responses: { response: string; name: string; json: string }[] }>("http_json");

/** The request whose answer shows each of the shared types. */
const requests: Readonly<Record<string, readonly [method: string, path: string, parts?: Partial<Parts>]>> = {
  Stats: ["GET", "/stats"],
  ClusterMetadata: ["GET", "/cluster/metadata"],
  DescribeOptions: ["GET", "/options/{scope}", { params: { scope: "topic" } }],
  GetMetadataChanges: ["GET", "/metadata/changes", { query: { from: "earliest" } }],
  ClientDetails: ["GET", "/clients/{client_id}", { params: { client_id: "1" } }],
  Clients: ["GET", "/clients"],
  UserDetails: ["GET", "/users/{user_id}", { params: { user_id: "1" } }],
  Users: ["GET", "/users"],
  RawPersonalAccessToken: ["POST", "/personal-access-tokens", { body: { name: "token", expiry: 0 } }],
  PersonalAccessTokens: ["GET", "/personal-access-tokens"],
  Stream: ["POST", "/streams", { body: { name: "s" } }],
  StreamDetails: ["GET", "/streams/{stream_id}", { params: { stream_id: "1" } }],
  Streams: ["GET", "/streams"],
  TopicDetails: ["GET", "/streams/{stream_id}/topics/{topic_id}", { params: { stream_id: "1", topic_id: "1" } }],
  Topics: ["GET", "/streams/{stream_id}/topics", { params: { stream_id: "1" } }],
  ConsumerGroupDetails: [
    "GET",
    "/streams/{stream_id}/topics/{topic_id}/consumer-groups/{group_id}",
    { params: { stream_id: "1", topic_id: "1", group_id: "1" } },
  ],
  ConsumerGroups: [
    "GET",
    "/streams/{stream_id}/topics/{topic_id}/consumer-groups",
    { params: { stream_id: "1", topic_id: "1" } },
  ],
};

interface Parts {
  readonly params: JsonObject;
  readonly query: JsonObject;
  readonly body: JsonObject;
}

const caller: Caller = {
  account: { userId: 0, userCreatedAtMicros: 0 },
  credential: { key: "jwt:1", expiresAtMicros: undefined },
  reader: 1n,
  peerAddress: "127.0.0.1:1",
};

const shown = responses.filter(({ response }) => Object.hasOwn(requests, response));

describe("answers to the official client", () => {
  it("every shared type of a resource is checked", () => {
    const others = new Set(responses.map(({ response }) => response).filter((name) => !Object.hasOwn(requests, name)));
    expect([...others].sort()).toEqual(["ConsumerOffset", "PollMessages"]);
  });

  it.each(shown)("$response $name", async ({ response, name, json }) => {
    const golden = cases.find((entry) => entry.response === response && entry.name === name);
    const runner: Commands = {
      run: <Req, Res>(_caller: Caller, command: Command<Req, Res>) =>
        // An empty list of topics makes the route look for the stream.
        command.title === "GetStream" && response !== "StreamDetails"
          ? Promise.reject(new IggyError(ErrorCode.Unauthorized))
          : Promise.resolve(decodeResponse(command, Buffer.from(golden?.hex ?? "", "hex"))),
    };
    const [method, path, parts = {}] = requests[response] ?? ["", ""];
    const routes = [
      ...streamRoutes(runner),
      ...topicRoutes(runner),
      ...consumerGroupRoutes(runner),
      ...userRoutes(runner),
      ...personalAccessTokenRoutes(runner),
      ...nodeRoutes(runner, systemClock),
      ...metadataChangeRoutes(runner),
    ];
    const route = routes.find((each) => each.method === method && each.path === path);
    const outcome = await route?.serve(
      { params: {}, query: {}, body: undefined, peerAddress: "", signal: new AbortController().signal, ...parts },
      caller,
    );
    const text = outcome?.content.kind === "json" ? stringifyJson(outcome.content.value) : "";
    expect(parseJson(text)).toEqual(parseJson(json));
  });
});
