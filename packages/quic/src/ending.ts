import { QuicError } from "./quic-error.js";

/** How a connection ended, as the addon says it. */
export interface Ending {
  /** `local`, `application`, `transport` (this side refused), `refused` (the peer did), `idle`, `reset`, `version`, `internal`. */
  readonly cause: string;
  readonly code: number;
  readonly reason: string;
}

/** Codes of the transport from here on carry an alert of TLS. */
const CRYPTO_ERROR = 0x100;
const CONNECTION_REFUSED = 0x2;

/** Alerts that a handshake ends with, and what they ask for. */
const ALERTS: Readonly<Record<number, string>> = {
  40: "handshake_failure: the two have no algorithm in common, often because of the kind of the certificate's key",
  42: "bad_certificate",
  43: "unsupported_certificate",
  44: "certificate_revoked",
  45: "certificate_expired",
  46: "certificate_unknown",
  47: "illegal_parameter",
  48: "unknown_ca: the certificate is signed by nobody who is trusted",
  51: "decrypt_error",
  70: "protocol_version",
  80: "internal_error",
  112: "unrecognized_name",
  116: "certificate_required",
  120: "no_application_protocol: Iggy speaks QUIC without ALPN",
};

/** The error of a connection that stood and ended; undefined when this side asked for it. */
export function endingError(ending: Ending, peer: string): QuicError | undefined {
  const { cause, code, reason } = ending;
  switch (cause) {
    case "local":
      return undefined;
    case "application":
      return new QuicError("QUIC_CLOSED", `${peer} closed the connection (${hex(code)})${because(reason)}`, {
        detail: code,
      });
    case "idle":
      return new QuicError("QUIC_LOST", `${peer} fell silent`);
    case "reset":
      return new QuicError("QUIC_LOST", `${peer} does not know the connection any more`);
    default:
      return refusal(ending, peer);
  }
}

/** The error of a handshake that was refused. */
export function refusal({ cause, code, reason }: Ending, peer: string): QuicError {
  const alert = code - CRYPTO_ERROR;
  const side = cause === "transport" ? `this side refused ${peer}` : `${peer} refused the connection`;
  if (alert >= 0 && alert <= 0xff) {
    const name = ALERTS[alert] ?? `alert ${alert}`;
    return new QuicError("QUIC_TLS", `TLS: ${side} with ${name}${because(reason)}`, { detail: alert });
  }
  if (cause === "refused" && code === CONNECTION_REFUSED) {
    return new QuicError("QUIC_CLOSED", `${peer} takes no further connection`, { detail: code });
  }
  if (cause === "version") return new QuicError("QUIC_CLOSED", `${peer} speaks another version of QUIC`);
  return new QuicError("QUIC_CLOSED", `${side} (${hex(code)})${because(reason)}`, { detail: code });
}

const hex = (code: number): string => `0x${code.toString(16)}`;
const because = (reason: string): string => (reason === "" ? "" : `: ${reason}`);
