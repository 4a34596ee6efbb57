/**
 * What went wrong, for programs:
 *
 * | Code               | Meaning                                                                                 |
 * | ------------------ | --------------------------------------------------------------------------------------- |
 * | `QUIC_UNAVAILABLE` | There is no native addon for this process; the message names the reason and the remedy   |
 * | `QUIC_CERTIFICATE` | A certificate or key can't be used                                                      |
 * | `QUIC_BIND`        | The UDP address can't be bound; `cause` carries the system's error code where there is one |
 * | `QUIC_NO_ANSWER`   | Nothing came back: nobody listens, UDP is blocked, or the first datagrams are too large  |
 * | `QUIC_INCOMPLETE`  | The server answers, but the handshake did not end in time: loss, or a small path MTU     |
 * | `QUIC_TLS`         | One of the two sides refused the handshake; the message says which, and why              |
 * | `QUIC_CLOSED`      | The peer closed the connection                                                          |
 * | `QUIC_LOST`        | The peer fell silent, or forgot the connection                                          |
 * | `QUIC_STREAM`      | One request failed; the connection goes on                                              |
 * | `QUIC_ARGUMENT`    | A call that can't be meant                                                              |
 */
export type QuicErrorCode =
  | "QUIC_UNAVAILABLE"
  | "QUIC_CERTIFICATE"
  | "QUIC_BIND"
  | "QUIC_NO_ANSWER"
  | "QUIC_INCOMPLETE"
  | "QUIC_TLS"
  | "QUIC_CLOSED"
  | "QUIC_LOST"
  | "QUIC_STREAM"
  | "QUIC_ARGUMENT";

export class QuicError extends Error {
  readonly code: QuicErrorCode;
  /** The code that the peer, or TLS, gave with it. */
  readonly detail: number | undefined;

  constructor(code: QuicErrorCode, message: string, options: { cause?: unknown; detail?: number } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = "QuicError";
    this.code = code;
    this.detail = options.detail;
  }
}
