import { ErrorCode } from "@iggy/protocol";
import { SessionError } from "../errors/index.js";

/** Numbers of requests: 1, 2, 3 … over the whole life of the client. They never repeat, whatever happens to sessions. */
export class RequestNumbers {
  #last = 0;

  next(): number {
    if (this.#last >= Number.MAX_SAFE_INTEGER) {
      throw new SessionError(ErrorCode.RequestIdExhausted, "the client has used every request number");
    }
    this.#last++;
    return this.#last;
  }
}
