import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { HttpError } from "../route/index.js";

/** Bytes that a body has room for at first. The room doubles with what arrives, so that pieces of a byte cost no more. */
const FIRST_ROOM_BYTES = 4096;
/** Room of all bodies that are arriving. */
const ROOM_BYTES_MAX = 256 * 1024 * 1024;

/** The body was not read, so nothing that follows on the connection can be told apart from it. */
const unread = { connection: "close" } as const;

export const bodyTooLarge = (): HttpError =>
  new HttpError(413, "payload_too_large", "the body is larger than http.max_request_size", unread);

const noRoom = (): HttpError => new HttpError(503, "server_busy", "too many bodies are arriving", unread);

/** Receives bodies, each up to a size, all of them together within a bound. */
export class BodyReceiver {
  private readonly sizeMax: number;
  private readonly roomMax: number;
  private room = 0;

  constructor(sizeMax: number, roomMax = Math.max(ROOM_BYTES_MAX, sizeMax)) {
    this.sizeMax = sizeMax;
    this.roomMax = roomMax;
  }

  /** Room of the bodies that are arriving, in bytes. */
  get heldBytes(): number {
    return this.room;
  }

  /** Rejects with 413 for one that is too large, and with 503 while the others take all the room. */
  receive(message: Readable & { readonly headers: IncomingHttpHeaders }): Promise<Buffer> {
    if (Number(message.headers["content-length"] ?? 0) > this.sizeMax) return Promise.reject(bodyTooLarge());
    return new Promise((resolve, reject) => {
      let bytes = Buffer.alloc(0);
      let length = 0;
      const settle = (): void => {
        this.room -= bytes.length;
        message.off("data", take).off("end", end).off("error", fail).off("close", fail);
      };
      const fail = (error: Error = new HttpError(400, "incomplete_body", "the body did not arrive whole")): void => {
        settle();
        reject(error);
      };
      const take = (chunk: Buffer): void => {
        const needed = length + chunk.length;
        if (needed > this.sizeMax) {
          fail(bodyTooLarge());
          return;
        }
        if (needed > bytes.length) {
          const size = Math.min(this.sizeMax, Math.max(needed, 2 * bytes.length, FIRST_ROOM_BYTES));
          if (this.room - bytes.length + size > this.roomMax) {
            fail(noRoom());
            return;
          }
          this.room += size - bytes.length;
          const larger = Buffer.allocUnsafeSlow(size);
          bytes.copy(larger);
          bytes = larger;
        }
        chunk.copy(bytes, length);
        length = needed;
      };
      const end = (): void => {
        settle();
        resolve(bytes.subarray(0, length));
      };
      message.on("data", take).on("end", end).on("error", fail).on("close", fail);
    });
  }
}
