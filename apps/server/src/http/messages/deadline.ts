import { HttpError } from "../route/index.js";

/**
 * Rejects with 504 when the answer takes too long: it may still come, so whoever asked must not take it for a refusal. The
 * late answer is nobody's.
 */
export async function within<T>(answer: Promise<T>, millis: number, code: string, reason: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new HttpError(504, code, reason)), millis);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
