import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/http/json/index.js";
import { type RunningServer, startServer } from "../../start-server.js";
import { type Answer, Api, contextOf, message } from "./api-client.js";

let server: RunningServer;
let api: Api;
let topic: string;

beforeAll(async () => {
  server = await startServer({ config: { "partition.consumer_offsets_max": 3 } });
  api = await Api.signIn(server);
});
afterAll(() => server.close());
beforeEach(async () => {
  topic = await api.makeTopic(2);
  await api.send(topic, [message("a"), message("b"), message("c")], { partition: 1 });
});

const store = (body: JsonObject): Promise<Answer> =>
  api.call("PUT", `${topic}/consumer-offsets`, {
    body: { consumer_kind: "consumer", consumer_id: "c", partition_id: 1, offset: 1, context: null, ...body },
  });
const show = (query: Record<string, string | number> = {}): Promise<Answer> =>
  api.call("GET", `${topic}/consumer-offsets`, { query: { consumer_id: "c", partition_id: 1, ...query } });
const forget = (consumer: string, query: Record<string, string | number> = {}): Promise<Answer> =>
  api.call("DELETE", `${topic}/consumer-offsets/${consumer}`, { query: { partition_id: 1, ...query } });

describe("a stored offset", () => {
  it("is shown, moves in both directions, and is forgotten", async () => {
    expect((await show()).status).toBe(404);
    const stored = await store({ offset: 2 });
    expect([stored.status, stored.text, stored.headers.get("iggy-durability")]).toEqual([204, "", null]);
    expect((await show()).json).toEqual({ partition_id: 1, current_offset: 2, stored_offset: 2 });
    await store({ offset: "0" });
    expect((await show()).json["stored_offset"]).toBe(0);
    expect((await forget("c")).status).toBe(204);
    const missing = await show();
    expect([missing.status, missing.json["code"]]).toEqual([404, "not_found"]);
  });

  it("belongs to a consumer, by name or by number, as text or not", async () => {
    await store({ consumer_id: 7, offset: 1 });
    await store({ consumer_id: "8", offset: 2 });
    expect((await show({ consumer_id: 7 })).json["stored_offset"]).toBe(1);
    expect((await show({ consumer_id: 8 })).json["stored_offset"]).toBe(2);
    expect((await show({ consumer_id: "c" })).status).toBe(404);
  });

  it("belongs to partition 0 unless another is named", async () => {
    await api.send(topic, [message("x")]);
    expect((await store({ partition_id: null, offset: 0 })).status).toBe(204);
    const shown = await api.call("GET", `${topic}/consumer-offsets`, { query: { consumer_id: "c" } });
    expect(shown.json).toEqual({ partition_id: 0, current_offset: 0, stored_offset: 0 });
  });

  it("may carry the context of its batch, which a recreated partition refuses with 87", async () => {
    const context = await contextOf(api, topic, 1);
    expect((await store({ context })).status).toBe(204);
    await api.call("DELETE", `${topic}/partitions`, { query: { partitions_count: 1 } });
    await api.call("POST", `${topic}/partitions`, { body: { partitions_count: 1 } });
    const refused = await store({ context });
    expect([refused.status, refused.json["id"]]).toEqual([400, 87]);
  });

  it.each<[JsonObject, number, number]>([
    [{ offset: 3 }, 400, 4100],
    [{ partition_id: 0 }, 400, 4100],
    [{ offset: "18446744073709551615" }, 400, 4100],
    [{ offset: "18446744073709551616" }, 400, 3],
    [{ offset: -1 }, 400, 3],
    [{ offset: null }, 400, 3],
    [{ partition_id: 9 }, 404, 3007],
    [{ consumer_id: "" }, 400, 6],
    [{ consumer_id: true }, 400, 3],
    [{ consumer_kind: "nobody" }, 400, 3],
    [{ context: {} }, 400, 3],
  ])("with %j is refused at once", async (members, status, id) => {
    const answer = await store(members);
    expect([answer.status, answer.json["id"]]).toEqual([status, id]);
  });

  it("says which field is out of range", async () => {
    expect((await store({ offset: 3 })).json).toMatchObject({ code: "invalid_offset", field: "offset" });
  });

  it("of a new consumer is refused with 3024 when the partition has as many as it may", async () => {
    for (const consumer_id of ["a", "b", "c"]) expect((await store({ consumer_id })).status).toBe(204);
    const refused = await store({ consumer_id: "d" });
    expect([refused.status, refused.json["id"]]).toEqual([400, 3024]);
    const poll = { kind: "next", consumer_id: "d", partition_id: 1, auto_commit: true };
    const read = await api.poll(topic, poll);
    expect([read.status, read.json["id"]]).toEqual([400, 3024]);
    expect((await store({ consumer_id: "a", offset: 2 })).status).toBe(204);
  });

  it("that is not there is forgotten with 404 and 3021, at once", async () => {
    const answer = await forget("nobody");
    expect([answer.status, answer.json["id"]]).toEqual([404, 3021]);
  });

  it.each([
    [{ consumer_kind: "x" }, 400, 3],
    [{ partition_id: 9 }, 404, 3007],
    [{ partition_id: "" }, 400, 3],
  ])("is neither shown nor forgotten with %j", async (query, status, id) => {
    for (const answer of [await show(query), await forget("c", query)]) {
      expect([answer.status, answer.json["id"]]).toEqual([status, id]);
    }
  });
});

describe("offsets of groups", () => {
  beforeEach(async () => {
    expect((await api.call("POST", `${topic}/consumer-groups`, { body: { name: "g" } })).status).toBe(200);
  });

  it("are read, but neither stored nor forgotten without a membership", async () => {
    expect((await show({ consumer_kind: "consumer_group", consumer_id: "g" })).status).toBe(404);
    const group = { consumer_kind: "consumer_group", consumer_id: "g" } as const;
    for (const answer of [await store(group), await forget("g", { consumer_kind: "consumer_group" })]) {
      expect([answer.status, answer.json["id"]]).toEqual([400, 5009]);
    }
  });

  it("that are managed outside are stored beyond the end, read and forgotten", async () => {
    const kind = { consumer_kind: "external_group" };
    expect((await store({ ...kind, consumer_id: "g", offset: 1000 })).status).toBe(204);
    expect((await show({ ...kind, consumer_id: "g" })).json["stored_offset"]).toBe(1000);
    expect((await forget("g", kind)).status).toBe(204);
  });

  it("that do not exist are 404", async () => {
    const answer = await show({ consumer_kind: "consumer_group", consumer_id: "nobody" });
    expect([answer.status, answer.json["id"]]).toEqual([404, 5003]);
  });
});
