/** Carries the trace of who sends to who reads, in the user headers of messages. */
export interface MessageTracing {
  /** Headers that name the trace of the caller of `send`, such as `traceparent`; none outside of a trace. */
  headers(): Readonly<Record<string, string>>;
}
