import { randomUUID } from "node:crypto";
import { type JsonObject, type JsonValue, parseJson, stringifyJson } from "../../../src/http/json/index.js";
import { isArray, isObject } from "./json-kinds.js";
import type { RunningServer } from "../../start-server.js";

export { isObject };

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The members of a JSON object; anything else has none. */
  readonly json: JsonObject;
}

export interface CallOptions {
  readonly query?: Readonly<Record<string, string | number | bigint | boolean>>;
  readonly body?: JsonValue;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** A caller of the HTTP API, signed in once. */
export class Api {
  readonly base: string;
  private readonly token: string;

  constructor(base: string, token: string) {
    this.base = base;
    this.token = token;
  }

  static async signIn(server: Pick<RunningServer, "addresses">, username = "iggy", password = "iggy"): Promise<Api> {
    const base = `http://${server.addresses.http ?? ""}`;
    const { status, json } = await new Api(base, "").call("POST", "/users/login", { body: { username, password } });
    const token = isObject(json["access_token"]) ? json["access_token"]["token"] : undefined;
    if (status !== 200 || typeof token !== "string") throw new Error(`the sign-in got ${status}`);
    return new Api(base, token);
  }

  get authorization(): string {
    return `Bearer ${this.token}`;
  }

  async call(
    method: string,
    path: string,
    { query = {}, body, headers = {}, signal }: CallOptions = {},
  ): Promise<Answer> {
    const search = new URLSearchParams(
      Object.entries(query).map(([key, value]): [string, string] => [key, String(value)]),
    );
    const response = await fetch(`${this.base}${path}${search.size === 0 ? "" : `?${search.toString()}`}`, {
      method,
      headers: {
        ...(this.token === "" ? {} : { authorization: this.authorization }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: stringifyJson(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true && text !== "";
    const value = isJson ? parseJson(text) : null;
    return { status: response.status, headers: response.headers, text, json: isObject(value) ? value : {} };
  }

  /** A stream with one topic; gives the path of the topic. */
  async makeTopic(partitions = 1, options: JsonObject = {}, streamOptions: JsonObject = {}): Promise<string> {
    const stream = `s-${randomUUID()}`;
    const made = await this.call("POST", "/streams", { body: { name: stream, options: streamOptions } });
    if (made.status !== 200) throw new Error(made.text);
    const topic = { name: "orders", partitions_count: partitions, options };
    const answer = await this.call("POST", `/streams/${stream}/topics`, { body: topic });
    if (answer.status !== 200) throw new Error(answer.text);
    return `/streams/${stream}/topics/orders`;
  }

  send(topic: string, messages: readonly JsonValue[], more: SendMore = {}): Promise<Answer> {
    const { partition = 0, partitioning = partitionId(partition), ack, ...members } = more;
    return this.call("POST", `${topic}/messages`, {
      body: { partitioning, messages, ...members },
      ...(ack === undefined ? {} : { query: { ack } }),
    });
  }

  poll(topic: string, query: CallOptions["query"] = {}): Promise<Answer> {
    return this.call("GET", `${topic}/messages`, { query });
  }
}

export interface SendMore {
  readonly partition?: number;
  readonly partitioning?: JsonValue;
  readonly ack?: string;
  readonly context?: JsonValue;
}

export const base64 = (text: string | Uint8Array): string => Buffer.from(text).toString("base64");

export const partitionId = (id: number): JsonObject => ({
  kind: "partition_id",
  value: base64(new Uint8Array(Uint32Array.of(id).buffer)),
});

export const messagesKey = (key: string): JsonObject => ({ kind: "messages_key", value: base64(key) });
export const balanced: JsonObject = { kind: "balanced", value: "" };

export const message = (payload: string, more: JsonObject = {}): JsonObject => ({ payload: base64(payload), ...more });

const listOf = (value: JsonValue | undefined): readonly JsonObject[] => (isArray(value) ? value.filter(isObject) : []);

export const messagesOf = ({ json }: Answer): readonly JsonObject[] => listOf(json["messages"]);
export const confirmationsOf = ({ json }: Answer): readonly JsonObject[] => listOf(json["confirmations"]);

export const payloadsOf = (answer: Answer): readonly string[] =>
  messagesOf(answer).map(({ payload }) =>
    typeof payload === "string" ? Buffer.from(payload, "base64").toString() : "",
  );

export const headerOf = (found: JsonObject | undefined): JsonObject => {
  const header = found?.["header"];
  return isObject(header) ? header : {};
};

/** Context of a partition as the details of its topic show it. */
export async function contextOf(api: Api, topic: string, partition = 0): Promise<JsonObject> {
  const { json } = await api.call("GET", topic);
  const context = listOf(json["partitions"])[partition]?.["context"];
  if (!isObject(context)) throw new Error(`${topic} shows no context of partition ${partition}`);
  return context;
}
