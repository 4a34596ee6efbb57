import { ErrorCode, errorName } from "@iggy/protocol";
import {
  errorOf,
  type IggyError,
  TimeoutError,
  TransientError,
  TransientNotAcceptedError,
  TransientNotCommittedError,
} from "../errors/index.js";
import type { Call } from "./call.js";

/** What a call is about, as the end of a sentence. */
export function aboutText(about: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(about)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key} ${typeof value === "string" ? JSON.stringify(value) : String(value)}`);
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`;
}

const detailsOf = (call: Call, cause: unknown) => ({
  commandCode: call.command.code,
  context: call.about,
  ...(cause === undefined ? {} : { cause }),
});

/** The error of a refused call: names the command, the resource and the code. */
export function refusalOf(call: Call, code: number, cause?: IggyError): IggyError {
  const message = `${call.command.name} failed: ${errorName(code)} (${String(code)})${aboutText(call.about)}`;
  return errorOf(code, message, detailsOf(call, cause));
}

/** The error of a call whose time ended. Its cause says what is known: 57, 58 or 90. */
export function timeoutOf(call: Call, code: number, cause?: IggyError): IggyError {
  const text = `${call.command.name} had no result in ${String(call.timeoutMs)} ms${aboutText(call.about)}`;
  const details = detailsOf(call, cause);
  switch (code) {
    case ErrorCode.TransientNotCommitted:
      return timeout(57, new TransientNotCommittedError(`${text}: no reply came`, details));
    case ErrorCode.DeferredPollCapacityExceeded:
      return timeout(90, new TransientError(90, `${text}: the server holds too many waiting polls`, details));
    default:
      return timeout(58, new TransientNotAcceptedError(`${text}: nothing was accepted`, details));
  }

  function timeout(of: 57 | 58 | 90, known: IggyError): IggyError {
    return new TimeoutError(of, known.message, call.timeoutMs, { ...detailsOf(call, known) });
  }
}
