import { ErrorCode, errorEntry, IggyError } from "../errors/index.js";

const shownKeyChars = 64;

/** A refused option. Its text names the key, cut to 64 characters, and never a value, which may be key material. */
export class OptionError extends IggyError {
  readonly key: string;

  constructor(code: number, key: string, detail: string = errorEntry(code).text) {
    const shown = Array.from(key).slice(0, shownKeyChars).join("");
    super(code, `option "${shown}": ${detail}`);
    this.key = shown;
  }
}

export const invalidValue = (key: string, detail: string): OptionError =>
  new OptionError(ErrorCode.InvalidOptionValue, key, detail);
