import { busy } from "../route/index.js";

/** Bytes of poll replies, as the partitions gave them, that clients have not taken yet. */
const REPLY_BYTES_MAX = 256 * 1024 * 1024;

/**
 * What clients that read slowly may hold. While it is used up polls are refused; replies that are under way by then still
 * go, so it may be exceeded by what the reads of that moment give.
 */
export class ReplyBudget {
  private readonly bytesMax: number;
  private bytes = 0;

  constructor(bytesMax = REPLY_BYTES_MAX) {
    this.bytesMax = bytesMax;
  }

  get heldBytes(): number {
    return this.bytes;
  }

  /** Throws when there is no room for replies. */
  check(): void {
    if (this.bytes >= this.bytesMax) throw busy(503, "server_busy", "clients have not taken earlier replies yet");
  }

  /** Gives what lets the bytes go again. */
  take(bytes: number): () => void {
    this.bytes += bytes;
    let isHeld = true;
    return () => {
      if (isHeld) this.bytes -= bytes;
      isHeld = false;
    };
  }
}
