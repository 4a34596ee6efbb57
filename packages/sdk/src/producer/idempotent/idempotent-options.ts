import { ErrorCode } from "@iggy/protocol";
import { ValidationError } from "../../errors/index.js";
import { integer, type U64Like, u64, wrongType } from "../../values/check.js";
import type { Id } from "../../values/id.js";

/** Who a producer is towards the servers. */
export interface ProducerIdentity {
  /** 0 to 2^63 - 1. */
  readonly id: bigint;
  /** 0 to 32767; a higher one shuts lower ones of the same id out. */
  readonly epoch: number;
}

interface OfTopic {
  readonly streamId: Id;
  readonly topicId: Id;
}

/**
 * A producer id that outlives the process. Without `load`, give an `epoch` that was never used with this `id` before:
 * servers take what they saw under it for a repetition.
 */
export interface IdempotentOptions {
  /** Id for the producer's own topic; one of the session without it. */
  readonly id?: U64Like;
  /** First epoch under `id`, 0 without it. */
  readonly epoch?: number;
  /** What `save` got last for a topic. The producer goes on with the next epoch, which shuts its predecessor out. */
  readonly load?: (topic: OfTopic) => SavedIdentity | null | undefined | Promise<SavedIdentity | null | undefined>;
  /** Keeps an identity. It is awaited before the identity is used for the first time. */
  readonly save?: (identity: ProducerIdentity & OfTopic) => void | Promise<void>;
}

export interface SavedIdentity {
  readonly id: U64Like;
  readonly epoch: number;
}

export interface IdempotentSettings {
  /** For the producer's own topic. */
  readonly first: ProducerIdentity | undefined;
  readonly load: NonNullable<IdempotentOptions["load"]> | undefined;
  readonly save: NonNullable<IdempotentOptions["save"]> | undefined;
}

export const maxEpoch = 0x7fff;
const maxId = (1n << 63n) - 1n;

export function idempotentSettings(given: boolean | IdempotentOptions): IdempotentSettings | undefined {
  if (given === false) return undefined;
  if (given === true) return { first: undefined, load: undefined, save: undefined };
  if (typeof given !== "object") throw wrongType("idempotent", "true, false or an identity", given);
  const { id, epoch, load, save } = given;
  if (id === undefined && epoch !== undefined) {
    throw new ValidationError(ErrorCode.InvalidConfiguration, "idempotent.epoch needs idempotent.id");
  }
  for (const [name, value] of Object.entries({ load, save })) {
    if (value !== undefined && typeof value !== "function") throw wrongType(`idempotent.${name}`, "a function", value);
  }
  return { first: id === undefined ? undefined : checkedIdentity("idempotent", { id, epoch: epoch ?? 0 }), load, save };
}

export function checkedIdentity(argument: string, { id, epoch }: SavedIdentity): ProducerIdentity {
  const checked = u64(`${argument}.id`, id);
  if (checked > maxId) throw new RangeError(`${argument}.id takes 0 to ${String(maxId)}, got ${String(checked)}`);
  return { id: checked, epoch: integer(`${argument}.epoch`, epoch, 0, maxEpoch) };
}
