import { ErrorCode, type Consumer as WireConsumer } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { type Id, toIdentifier } from "./id.js";

/** Who reads or stores offsets. */
export interface Consumer {
  readonly kind: "consumer" | "consumer_group" | "external_group";
  readonly id: Id;
}

export const Consumer = {
  /** The consumer with id 0. Two applications that use it share their offsets; prefer `Named`. */
  Single: { kind: "consumer", id: 0 },
  /** A consumer of its own, by number or name. */
  Named: (id: Id): Consumer => ({ kind: "consumer", id }),
  /** A consumer group of the topic; membership is checked. */
  Group: (id: Id): Consumer => ({ kind: "consumer_group", id }),
  /** Offsets of a group that is managed elsewhere. It can not be polled. */
  ExternalGroup: (id: Id): Consumer => ({ kind: "external_group", id }),
} as const satisfies Record<string, Consumer | ((id: Id) => Consumer)>;

const kinds: readonly string[] = ["consumer", "consumer_group", "external_group"];

export function toConsumer(consumer: Consumer): WireConsumer {
  if (!kinds.includes(consumer.kind)) {
    throw new ValidationError(
      ErrorCode.InvalidCommand,
      "consumer.kind takes consumer, consumer_group or external_group",
    );
  }
  return { kind: consumer.kind, id: toIdentifier("consumer.id", consumer.id) };
}
