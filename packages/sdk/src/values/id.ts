import { ErrorCode, type Identifier, namedId, numericId, parseIdentifier, utf8Length } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { integer, wrongType } from "./check.js";

/** A resource: a number is its id, 0 included; a string is its name, also when it consists of digits. */
export type Id = number | string;

export const Id = {
  /** The rule of command lines and paths: text that reads as a u32 is an id, everything else a name. */
  parse(text: string): Id {
    return identified("id", () => parseIdentifier(text)).value;
  },
} as const;

export function toIdentifier(argument: string, id: unknown): Identifier {
  if (typeof id === "number") return numericId(integer(argument, id, 0, 0xffff_ffff));
  if (typeof id !== "string") throw wrongType(argument, "a number (an id) or a string (a name)", id);
  return identified(argument, () => namedId(id));
}

function identified(argument: string, make: () => Identifier): Identifier {
  try {
    return make();
  } catch (cause) {
    throw new ValidationError(ErrorCode.InvalidIdentifier, `${argument}: a name takes 1 to 255 bytes`, {
      cause,
      context: { argument },
    });
  }
}

/** A name of a stream, topic or group to be made: 1 to 255 bytes. `code` is the error of that resource. */
export function toName(argument: string, value: unknown, code: number, min = 1, max = 255): string {
  if (typeof value !== "string") throw wrongType(argument, "a string", value);
  const length = utf8Length(value);
  if (length < min || length > max) {
    throw new ValidationError(
      code,
      `${argument} takes ${String(min)} to ${String(max)} bytes of UTF-8, got ${String(length)}`,
      { context: { argument } },
    );
  }
  return value;
}
