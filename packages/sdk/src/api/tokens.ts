import {
  createPersonalAccessToken,
  deletePersonalAccessToken,
  ErrorCode,
  getPersonalAccessTokens,
  textLimits,
  U64_MAX,
} from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { type U64Like, u64 } from "../values/check.js";
import { dateOfMicros, type Duration, milliseconds, toMicros } from "../values/duration.js";
import { toName } from "../values/id.js";
import type { CallOptions, Calls } from "./caller.js";

export interface PersonalAccessToken {
  readonly name: string;
  /** null: never. */
  readonly expiry: Date | null;
}

export interface CreateToken {
  /** 3 to 30 bytes. */
  readonly name: string;
  /** ms, a duration text or `never`; `never` without it. */
  readonly expiry?: Duration;
  /** The raw value instead: µs, 0 or 2^64 - 1 for never. */
  readonly expiryMicros?: U64Like;
}

/** Personal access tokens of the signed-in user. */
export class TokenApi {
  readonly #caller: Calls;

  constructor(caller: Calls) {
    this.#caller = caller;
  }

  async list(options?: CallOptions): Promise<PersonalAccessToken[]> {
    const { tokens } = await this.#caller.read(getPersonalAccessTokens, {}, {}, options);
    return tokens.map(({ name, expiryAt }) => ({ name, expiry: expiryAt === 0n ? null : dateOfMicros(expiryAt) }));
  }

  /** The reply is the only time that the token is shown. */
  async create(token: CreateToken, options?: CallOptions): Promise<{ readonly token: string }> {
    const name = tokenName(token.name);
    return this.#caller.write(createPersonalAccessToken, { name, expiry: expiryOf(token) }, { name }, options);
  }

  async delete({ name }: { readonly name: string }, options?: CallOptions): Promise<true> {
    await this.#caller.write(deletePersonalAccessToken, { name: tokenName(name) }, { name }, options);
    return true;
  }
}

const tokenName = (name: string): string => {
  const { min, max } = textLimits.personalAccessTokenName;
  return toName("name", name, ErrorCode.InvalidPersonalAccessTokenName, min, max);
};

function expiryOf({ expiry = "never", expiryMicros }: CreateToken): bigint {
  if (expiryMicros !== undefined) return u64("expiryMicros", expiryMicros);
  if (expiry === "never") return U64_MAX;
  const ms = milliseconds("expiry", expiry);
  // Zero means never on the wire, which nobody means who asks for no time at all.
  if (ms <= 0) {
    throw new ValidationError(ErrorCode.InvalidPersonalAccessTokenExpiry, 'expiry takes a time above 0, or "never"');
  }
  return toMicros(ms);
}
