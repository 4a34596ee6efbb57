import { inspect } from "node:util";

/** What stands in the place of a secret wherever a person may read it. */
export const SECRET_MASK = "******";

/**
 * A text that must not be seen: a password, a key, a token, an address that carries credentials. Logging it, putting it
 * into a template, a JSON document or an error shows the mask; `reveal()` is the one way to the text.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  get isEmpty(): boolean {
    return this.#text === "";
  }

  equals(other: Secret): boolean {
    return this.#text === other.#text;
  }

  toString(): string {
    return SECRET_MASK;
  }

  toJSON(): string {
    return SECRET_MASK;
  }

  [inspect.custom](): string {
    return SECRET_MASK;
  }
}
