import { Permits } from "../calls/permits.js";
import { Scope } from "../calls/scope.js";
import { Link, type LinkSettings } from "../link/index.js";
import type { Endpoint, Transport, TransportProtocol } from "../transport/index.js";

/** Longest time of one dial, name lookup and TLS handshake included, ms. */
const dialTimeoutMs = 2000;
/** Dials in the background at once. */
const maxBackgroundDials = 4;

/** Opens links over the transport of the client. */
export class Dialer {
  readonly #load: () => Promise<Transport>;
  readonly #settings: LinkSettings;
  readonly #background = new Permits(maxBackgroundDials);
  #transport: Promise<Transport> | undefined;

  constructor(load: () => Promise<Transport>, settings: LinkSettings) {
    this.#load = load;
    this.#settings = settings;
  }

  /** Protocol of the transport, whose ports of the roster count. */
  async protocol(): Promise<TransportProtocol> {
    return (await this.#transportOnce()).protocol;
  }

  /** Opens a link, within the time of a dial. */
  async dial(endpoint: Endpoint, signal: AbortSignal): Promise<Link> {
    const transport = await this.#transportOnce();
    const limit = new AbortController();
    const onAbort = (): void => limit.abort(signal.reason);
    const timer = setTimeout(
      () => limit.abort(new Error(`no answer within ${String(dialTimeoutMs)} ms`)),
      dialTimeoutMs,
    );
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await Link.open(transport, endpoint, this.#settings, limit.signal);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** The same with few at once, for dials that nobody waits for. */
  async dialInBackground(endpoint: Endpoint, signal: AbortSignal): Promise<Link> {
    const scope = new Scope(Infinity, signal);
    try {
      await this.#background.take(scope);
      try {
        return await this.dial(endpoint, signal);
      } finally {
        this.#background.give();
      }
    } finally {
      scope.dispose();
    }
  }

  /** Loaded at the first dial, so that a transport nobody uses costs nothing. */
  #transportOnce(): Promise<Transport> {
    this.#transport ??= this.#load();
    return this.#transport;
  }
}
