import { ErrorCode } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import type { SchemaIssue } from "./standard-schema.js";

/**
 * A value or a payload is not what its codec takes. The message names places, never what was there: payloads don't go
 * into logs.
 */
export class InvalidPayloadError extends ValidationError {
  static override readonly className: string = "InvalidPayloadError";
  /** What the schema says, in its own words; they may repeat the value, so printing the error leaves them out. */
  declare readonly issues: readonly SchemaIssue[];

  constructor(message: string, issues: readonly SchemaIssue[] = []) {
    super(ErrorCode.InvalidFormat, message, { context: { places: issues.map(placeOf) } });
    Object.defineProperty(this, "issues", { value: issues });
  }
}

/** Where in a value an issue lies, such as `customer.emails.0`. */
export const placeOf = ({ path = [] }: SchemaIssue): string =>
  path.map((step) => String(typeof step === "object" ? step.key : step)).join(".");
