export interface ReconnectSettings {
  readonly enabled: boolean;
  readonly intervalMs: number;
  readonly maxIntervalMs: number;
  /** Passes over the endpoints after the first one, and redials of one replica in a row. */
  readonly maxRetries: number;
  /** A link that stayed up this long resets the pauses. */
  readonly reestablishAfterMs: number;
}
