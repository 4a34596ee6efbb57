import type { MessageTracing } from "../producer/message-tracing.js";
import type { HeaderValue } from "../values/headers.js";

/*
 * Traces that go on from who sends a message to who reads it, by way of the message's headers. Entry point of its own,
 * `@iggy/sdk/opentelemetry`: it takes the API object of `@opentelemetry/api` and depends on nothing.
 */

interface Getter {
  keys(carrier: Carrier): string[];
  get(carrier: Carrier, key: string): string | undefined;
}

type Carrier = Record<string, string>;

/** What is used of `@opentelemetry/api`; its default export fits. */
export interface TracingApi<Context> {
  readonly context: {
    active(): Context;
    with<Result>(context: Context, step: () => Result): Result;
  };
  readonly propagation: {
    inject(context: Context, carrier: Carrier): void;
    extract(context: Context, carrier: Carrier, getter: Getter): Context;
  };
}

/** A message as a consumer gets it. */
export interface TracedMessage {
  readonly userHeaders: readonly { readonly key: HeaderValue; readonly value: HeaderValue }[];
}

/** Carries traces over messages. It is an option of producers: `tracing`. */
export interface Tracing<Context> extends MessageTracing {
  /** The context of the sender of a message, inside the active one; the active one for a message without a trace. */
  contextOf(message: TracedMessage): Context;
  /** Runs a step in the context of the sender of a message, so that its spans belong to the sender's trace. */
  within<Result>(message: TracedMessage, step: () => Result): Result;
}

/**
 * Traces by the propagators that the application registered, such as the W3C trace context: a producer writes the
 * trace of the caller of `send` into text headers, a consumer finds it there.
 *
 *     import api from "@opentelemetry/api";
 *     const tracing = openTelemetry(api);
 *     const producer = client.producer({ streamId, topicId, tracing });
 *     for await (const { message } of consumer) tracing.within(message, () => handle(message));
 */
export function openTelemetry<Context>({ context, propagation }: TracingApi<Context>): Tracing<Context> {
  const contextOf = (message: TracedMessage): Context =>
    propagation.extract(context.active(), carrierOf(message), getter);
  return {
    headers: () => {
      const carrier: Carrier = {};
      propagation.inject(context.active(), carrier);
      return carrier;
    },
    contextOf,
    within: (message, step) => context.with(contextOf(message), step),
  };
}

const getter: Getter = {
  keys: (carrier) => Object.keys(carrier),
  get: (carrier, key) => (Object.hasOwn(carrier, key) ? carrier[key] : undefined),
};

/** The headers that are text, by name. */
function carrierOf({ userHeaders }: TracedMessage): Carrier {
  const carrier: Carrier = {};
  for (const { key, value } of userHeaders) {
    if (key.kind === "string" && value.kind === "string") carrier[key.value] = value.value;
  }
  return carrier;
}
