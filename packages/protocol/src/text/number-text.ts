import { ErrorCode, IggyError } from "../errors/index.js";

export const U64_MAX = 0xffff_ffff_ffff_ffffn;

/** Digits only, at most u64::MAX; undefined for anything else. */
export function parseU64(text: string): bigint | undefined {
  if (!/^[0-9]{1,39}$/.test(text)) return undefined;
  const value = BigInt(text);
  return value <= U64_MAX ? value : undefined;
}

export const refuseText = (what: string, text: string): never => {
  throw new IggyError(ErrorCode.InvalidNumberValue, `"${text.slice(0, 64)}" is no ${what}`);
};
