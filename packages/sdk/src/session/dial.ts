import { Link, type LinkSettings } from "../link/index.js";
import type { Endpoint, Transport } from "../transport/index.js";

/** Longest time of one dial, name lookup and TLS handshake included, ms. */
const dialTimeoutMs = 2000;

/** Opens a link, within the time of a dial. */
export async function dial(
  transport: Transport,
  endpoint: Endpoint,
  settings: LinkSettings,
  signal: AbortSignal,
): Promise<Link> {
  const limit = new AbortController();
  const onAbort = (): void => limit.abort(signal.reason);
  const timer = setTimeout(() => limit.abort(new Error(`no answer within ${String(dialTimeoutMs)} ms`)), dialTimeoutMs);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Link.open(transport, endpoint, settings, limit.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
