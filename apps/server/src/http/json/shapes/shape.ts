import { JsonError, type JsonObject, type JsonValue } from "@iggy/protocol";

/** What a member of a body may be: read into a typed value, and described in the words of JSON Schema. */
export interface Shape<T> {
  readonly schema: JsonObject;
  /** The member may be missing. */
  readonly isOptional?: boolean;
  /** The typed value; undefined stands for a member that is missing. Throws `ShapeError`. */
  read(value: JsonValue | undefined): T;
}

export type ShapeValue<S> = S extends Shape<infer T> ? T : never;

/** JSON of another shape than a route takes, with the path of the member that is wrong. */
export class ShapeError extends JsonError {
  private readonly fault: string;
  private readonly path: string;

  constructor(fault: string, code?: number, path = "") {
    super(path === "" ? fault : `${path}: ${fault}`, code);
    this.fault = fault;
    this.path = path;
  }

  /** The same, seen from around the member: `step` is a name, or an index in brackets. */
  within(step: string): ShapeError {
    const isMember = this.path !== "" && !this.path.startsWith("[");
    return new ShapeError(this.fault, this.code, isMember ? `${step}.${this.path}` : step + this.path);
  }
}

/** What a value is, for error texts; never its content, which may be secret or long. */
export function describeJson(value: JsonValue | undefined): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  switch (typeof value) {
    case "object":
      return "an object";
    case "string":
      return "a text";
    case "boolean":
      return "a boolean";
    default:
      return "a number";
  }
}
