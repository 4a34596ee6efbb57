import { ErrorCode, IggyError as ProtocolError, isKnownErrorCode } from "@iggy/protocol";
import { hintFor } from "./hints.js";

/** Brand with the class names of an error, so that `instanceof` holds between an ESM and a CommonJS copy of the package. */
const brand = Symbol.for("@iggy/sdk/error-classes");

/** Codes that a caller may answer with the same call again. */
const retryableCodes: ReadonlySet<number> = new Set([
  ErrorCode.Disconnected,
  ErrorCode.TransientNotCommitted,
  ErrorCode.TransientNotAccepted,
  ErrorCode.NotConnected,
  ErrorCode.LifecycleBusy,
  ErrorCode.NotPrimary,
  ErrorCode.DeferredPollCapacityExceeded,
]);

export interface ErrorDetails {
  /** Code of the command that failed. */
  readonly commandCode?: number | undefined;
  /** What the error is about: names and numbers, never a secret. */
  readonly context?: Readonly<Record<string, unknown>> | undefined;
  readonly cause?: unknown;
  readonly hint?: string | undefined;
}

/**
 * Root of everything that the client rejects with, except `RangeError` and `TypeError` for arguments of a wrong kind and
 * the reason of an aborted signal. `code` is the stable number of the protocol, `errorName` its snake_case name.
 */
export class IggyError extends ProtocolError {
  /** Name of the class, also when a bundler renamed it. */
  static readonly className: string = "IggyError";

  readonly commandCode?: number;
  readonly context?: Readonly<Record<string, unknown>>;
  /** What to do about it, where that is known. */
  readonly hint?: string;

  constructor(code: number, message?: string, details: ErrorDetails = {}) {
    super(code, message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.className;
    if (details.commandCode !== undefined) this.commandCode = details.commandCode;
    if (details.context !== undefined) this.context = details.context;
    const hint = details.hint ?? hintFor(code);
    if (hint !== undefined) this.hint = hint;
    Object.defineProperty(this, brand, { value: classNames(new.target) });
  }

  get errorName(): string {
    return isKnownErrorCode(this.code) ? this.codeName : "unknown";
  }

  /** The name that earlier clients gave `code`. */
  get errorCode(): number {
    return this.code;
  }

  get retryable(): boolean {
    return retryableCodes.has(this.code);
  }

  /** Whether `value` is an error of the client, and of this code or protocol name when one is given. */
  static is(value: unknown, code?: number | string): value is IggyError {
    if (!(value instanceof IggyError)) return false;
    return code === undefined || value.code === code || value.errorName === code;
  }

  /** Plain data that is safe to log. 64-bit values are text. */
  toJSON(): Record<string, unknown> {
    return {
      name: this.name,
      code: this.code,
      errorName: this.errorName,
      message: this.message,
      retryable: this.retryable,
      ...(this.commandCode === undefined ? {} : { commandCode: this.commandCode }),
      ...(this.context === undefined ? {} : { context: plain(this.context) }),
      ...(this.hint === undefined ? {} : { hint: this.hint }),
      ...(this.cause === undefined ? {} : { cause: plain(this.cause) }),
    };
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (typeof value !== "object" || value === null || !(brand in value)) return false;
    const names = value[brand];
    return Array.isArray(names) && names.includes(this.className);
  }
}

function classNames(target: typeof IggyError): string[] {
  const names: string[] = [];
  let current: unknown = target;
  while (typeof current === "function" && "className" in current && typeof current.className === "string") {
    names.push(current.className);
    current = Object.getPrototypeOf(current);
  }
  return names;
}

function plain(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (value instanceof IggyError) return value.toJSON();
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plain(entry)]));
}
