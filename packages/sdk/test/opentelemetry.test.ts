import api, { type Context, createContextKey, ROOT_CONTEXT, type TextMapPropagator } from "@opentelemetry/api";
import { decodeRequest, decodeUserHeaders, forEachMessage, sendMessages } from "@iggy/protocol";
import { AsyncLocalStorage } from "node:async_hooks";
import { afterAll, beforeAll, expect, expectTypeOf, test } from "vitest";
import { HeaderValue } from "../src/index.js";
import { openTelemetry, type TracedMessage, type Tracing } from "../src/opentelemetry/index.js";
import { MemoryNetwork } from "./support/memory-network.js";
import { ScriptedBroker } from "./support/scripted-broker.js";

const traceKey = createContextKey("trace");

/** The propagation of a trace in one header. */
const propagator: TextMapPropagator = {
  fields: () => ["traceparent"],
  inject: (context, carrier, setter) => {
    const trace = context.getValue(traceKey);
    if (typeof trace === "string") setter.set(carrier, "traceparent", trace);
  },
  extract: (context, carrier, getter) => {
    const trace = getter.get(carrier, "traceparent");
    return typeof trace === "string" ? context.setValue(traceKey, trace) : context;
  },
};

beforeAll(() => {
  const storage = new AsyncLocalStorage<Context>();
  api.propagation.setGlobalPropagator(propagator);
  api.context.setGlobalContextManager({
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (context, step, thisArg, ...args) => storage.run(context, () => step.apply(thisArg, args)),
    bind: (_context, target) => target,
    enable() {
      return this;
    },
    disable() {
      return this;
    },
  });
});
afterAll(() => {
  api.propagation.disable();
  api.context.disable();
});

const inTrace = <T>(trace: string, step: () => T): T =>
  api.context.with(api.context.active().setValue(traceKey, trace), step);

test("it takes the API object of OpenTelemetry as it is", () => {
  expectTypeOf(openTelemetry(api)).toEqualTypeOf<Tracing<Context>>();
});

test.each(["direct", "background"] as const)("a %s producer hands its caller's trace to who reads", async (mode) => {
  const tracing = openTelemetry(api);
  const node = new ScriptedBroker();
  await using client = new MemoryNetwork(node).client();
  const producer = client.producer({ streamId: 1, topicId: 1, mode, tracing });
  await producer.init();
  await inTrace("trace-1", () =>
    producer.send([{ payload: "a" }, { payload: "b", headers: { own: 1, traceparent: "mine" } }]),
  );
  await inTrace("trace-2", () => producer.send({ payload: "c" }));
  await producer.send({ payload: "d" });
  await producer.close();
  expect(node.of(sendMessages).length).toBeGreaterThan(0);
  const messages: TracedMessage[] = [];
  for (const { body } of node.of(sendMessages)) {
    forEachMessage(decodeRequest(sendMessages, body).batch, ({ userHeaders }) => {
      messages.push({ userHeaders: Array.from(decodeUserHeaders(userHeaders), ([key, value]) => ({ key, value })) });
    });
  }
  const traces = messages.map((message) =>
    tracing.within(message, () => api.context.active().getValue(traceKey) ?? "none"),
  );
  expect(traces).toEqual(["trace-1", "mine", "trace-2", "none"]);
  expect(messages[1]?.userHeaders).toContainEqual({ key: HeaderValue.String("own"), value: HeaderValue.Int32(1) });
});
