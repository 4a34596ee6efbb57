/** The symbolic code of an operating system's error, such as `ENOSPC`. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

export function isMissing(error: unknown): boolean {
  return errorCode(error) === "ENOENT";
}

/** The disk has no room for a write now, and may have it later; nothing is broken. */
export function isOutOfSpace(error: unknown): boolean {
  const code = errorCode(error);
  return code === "ENOSPC" || code === "EDQUOT";
}

export function asError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}
