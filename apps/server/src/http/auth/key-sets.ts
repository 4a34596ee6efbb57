import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from "jose";

/** One fetch of the keys of an issuer in this time, whatever comes of it. */
const FETCH_PERIOD_MILLIS = 10_000;
const FETCH_MILLIS = 5_000;
const KEY_SET_BYTES_MAX = 1024 * 1024;

/**
 * The published keys of an issuer. They are fetched when a token names a key that is not known, and kept until then; the
 * fetched set replaces them.
 */
export function keySet(url: string, nowMillis: () => number): JWTVerifyGetKey {
  let lastFetchMillis = -Infinity;
  return createRemoteJWKSet(new URL(url), {
    timeoutDuration: FETCH_MILLIS,
    cooldownDuration: FETCH_PERIOD_MILLIS,
    cacheMaxAge: Infinity,
    [customFetch]: async (address, options) => {
      const now = nowMillis();
      if (now - lastFetchMillis < FETCH_PERIOD_MILLIS) throw new errors.JWKSNoMatchingKey();
      lastFetchMillis = now;
      return bounded(await fetch(address, options));
    },
  });
}

async function bounded(response: Response): Promise<Response> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const body: ReadableStream<Uint8Array> | null = response.body;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > KEY_SET_BYTES_MAX) throw new Error(`a key set takes at most ${KEY_SET_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return new Response(Buffer.concat(chunks), { status: response.status, headers: response.headers });
}
