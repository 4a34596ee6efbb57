import { type Addon, ownAddon } from "./addon/index.js";
import { QuicError, type QuicErrorCode } from "./quic-error.js";

/** The addon, or an error that says why there is none. */
export function requireAddon(): Addon {
  const loaded = ownAddon();
  if (loaded.addon !== undefined) return loaded.addon;
  throw new QuicError("QUIC_UNAVAILABLE", `there is no QUIC here: ${loaded.reason}; ${loaded.remedy}`);
}

const CODES: Readonly<Record<string, QuicErrorCode>> = {
  QUIC_TLS: "QUIC_CERTIFICATE",
  QUIC_BIND: "QUIC_BIND",
  EADDRINUSE: "QUIC_BIND",
  EADDRNOTAVAIL: "QUIC_BIND",
  EACCES: "QUIC_BIND",
};

/** What the addon refuses, as an error of this package. */
export function refusable<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const code = "code" in error ? String(error.code) : "";
    throw new QuicError(CODES[code] ?? "QUIC_ARGUMENT", error.message, { cause: error });
  }
}
