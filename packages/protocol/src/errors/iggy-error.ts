import { errorEntry, errorName } from "./table.js";

/** Brand that survives two copies of this module (ESM beside CJS), which `instanceof` alone would not. */
const brand = Symbol.for("@iggy/protocol/IggyError");

/**
 * Root of the error tree. `code` is the stable number of the protocol's error table, `codeName` its snake_case name.
 * A subclass adds what it knows; nothing else is needed to tell errors apart. Without a message it carries the short
 * sentence of the table.
 */
export class IggyError extends Error {
  readonly code: number;
  readonly codeName: string;

  constructor(code: number, message: string = errorEntry(code).text, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.codeName = errorName(code);
    Object.defineProperty(this, brand, { value: true });
  }

  static override [Symbol.hasInstance](this: unknown, value: unknown): boolean {
    if (this !== IggyError) return Function.prototype[Symbol.hasInstance].call(this as never, value);
    return typeof value === "object" && value !== null && brand in value;
  }
}
