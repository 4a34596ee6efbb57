import { ErrorCode, IggyError } from "../errors/index.js";

/** Text that is no JSON, or not the JSON that its reader takes: `InvalidCommand` (3) unless the member has a code of its own. */
export class JsonError extends IggyError {
  constructor(message: string, code: number = ErrorCode.InvalidCommand) {
    super(code, message);
  }
}

/** The same for text, with the place at which it goes wrong. */
export class JsonSyntaxError extends JsonError {
  /** Characters of the text in front of the fault. */
  readonly position: number;

  constructor(fault: string, text: string, position: number) {
    const before = text.slice(0, position);
    const line = before.split("\n").length;
    const column = position - before.lastIndexOf("\n");
    super(`the JSON is malformed: ${fault} at line ${line}, column ${column}`);
    this.position = position;
  }
}
