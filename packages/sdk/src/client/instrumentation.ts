import type { Instrumentation } from "../calls/call-run.js";
import type { Emit } from "../session/events.js";

/** The hook of a caller, so that what it throws becomes an event and no call fails. */
export function guardedInstrumentation(hook: Instrumentation | undefined, emit: Emit): Instrumentation {
  if (hook === undefined) return {};
  const guard = <Info>(step: ((info: Info) => void) | undefined): ((info: Info) => void) | undefined =>
    step === undefined
      ? undefined
      : (info) => {
          try {
            step(info);
          } catch (error) {
            emit("error", { error });
          }
        };
  const onRequest = guard(hook.onRequest?.bind(hook));
  const onResponse = guard(hook.onResponse?.bind(hook));
  return {
    ...(onRequest === undefined ? {} : { onRequest }),
    ...(onResponse === undefined ? {} : { onResponse }),
  };
}
