import { ErrorCode, IggyError } from "../errors/index.js";

/** The peer broke a rule of WebSocket or sent what is not taken. `closeCode` goes into the Close frame that answers it. */
export class WebSocketError extends IggyError {
  readonly closeCode: number;

  constructor(closeCode: number, message: string) {
    super(ErrorCode.InvalidCommand, message);
    this.closeCode = closeCode;
  }
}
