import type { Account } from "@iggy/engine";

/** What a request proved its user with: an access token, or a personal access token. */
export interface Credential {
  /** Names the credential for as long as it exists and says nothing about its secret: `jwt:<id>` or `pat:<hash>`. */
  readonly key: string;
  /** When it stops to be valid, microseconds since the Unix epoch; undefined for never. */
  readonly expiresAtMicros: number | undefined;
}

/** Who asks, once its credential was verified. */
export interface Caller {
  readonly account: Account;
  readonly credential: Credential;
  /** Stands for the credential where reads are counted by client. It names no session. */
  readonly reader: bigint;
  /** `ip:port` of the connection that brought the request. */
  readonly peerAddress: string;
}
