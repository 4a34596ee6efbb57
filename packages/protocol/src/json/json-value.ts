/**
 * A JSON value as `parseJson` gives it and `stringifyJson` takes it. Integers that a number holds exactly are numbers,
 * larger ones bigints with all their digits; objects have no prototype, so every name of a request is an ordinary member.
 */
export type JsonValue = null | boolean | number | bigint | string | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [name: string]: JsonValue | undefined;
}
