import { ErrorCode, textLimits, utf8Length } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { wrongType } from "../values/check.js";

export interface PasswordCredentials {
  readonly username: string;
  readonly password: string;
}

export interface TokenCredentials {
  /** A personal access token. */
  readonly token: string;
}

export type Credentials = PasswordCredentials | TokenCredentials;

/** Called for each sign-in, so that it may rotate secrets. */
export type CredentialsSource = Credentials | (() => Promise<Credentials>);

/** Credentials that no log, error or inspection shows. */
export class Secret {
  readonly #value: Credentials;

  constructor(value: Credentials) {
    this.#value = value;
  }

  reveal(): Credentials {
    return this.#value;
  }

  /** The same user after a committed change of its password or name. */
  with(change: Partial<PasswordCredentials>): Secret {
    return "token" in this.#value ? this : new Secret({ ...this.#value, ...change });
  }

  /** Username, where the credentials name one. */
  get username(): string | undefined {
    return "token" in this.#value ? undefined : this.#value.username;
  }

  toJSON(): string {
    return "[redacted]";
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return "[redacted]";
  }
}

/** Checks the bounds of credentials before they are sent. Values stay out of the errors. */
export function checkedCredentials(credentials: Credentials): Secret {
  if ("token" in credentials) {
    checkSecretText("token", credentials.token, { min: 1, max: 255 }, ErrorCode.InvalidFormat);
    return new Secret({ token: credentials.token });
  }
  checkSecretText("username", credentials.username, textLimits.username, ErrorCode.InvalidUsername);
  checkSecretText("password", credentials.password, textLimits.password, ErrorCode.InvalidPassword);
  return new Secret({ username: credentials.username, password: credentials.password });
}

/** Bounds of a text that must not appear in its error. */
export function checkSecretText(
  argument: string,
  value: unknown,
  limits: { readonly min: number; readonly max: number },
  code: number,
): string {
  if (typeof value !== "string") throw wrongType(argument, "a string", value);
  const length = utf8Length(value);
  if (length < limits.min || length > limits.max) {
    throw new ValidationError(
      code,
      `${argument} takes ${String(limits.min)} to ${String(limits.max)} bytes, got ${String(length)}`,
      { context: { argument } },
    );
  }
  return value;
}
