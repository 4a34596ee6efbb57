import type { ServerConfig } from "../config/index.js";
import { openFilesLimit } from "../system/index.js";

/** Open sockets when neither the configuration nor the system names a limit. */
const SOCKETS_DEFAULT = 4096;

/** Slots as another thread gets them. Can be posted. */
export interface SharedSlots {
  readonly max: number;
  readonly taken: SharedArrayBuffer;
}

/**
 * Counts the open sockets of clients over all listeners that have sockets, in all threads: above the limit none is accepted.
 */
export class SocketSlots {
  /** The same slots, for another thread. */
  readonly shared: SharedSlots;
  private readonly taken: Int32Array;

  constructor(shared: number | SharedSlots) {
    this.shared = typeof shared === "number" ? { max: shared, taken: new SharedArrayBuffer(4) } : shared;
    this.taken = new Int32Array(this.shared.taken);
  }

  /** False when all are taken; otherwise `free` must follow exactly once, in whatever thread the socket ends. */
  take(): boolean {
    if (Atomics.add(this.taken, 0, 1) < this.shared.max) return true;
    this.free();
    return false;
  }

  free(): void {
    Atomics.sub(this.taken, 0, 1);
  }
}

/** As many as the configuration allows: 0 is no limit; without a value half of what the system lets the process open. */
export function socketSlots({ connectionsMax }: Pick<ServerConfig["messageBus"], "connectionsMax">): SocketSlots {
  if (connectionsMax === 0) return new SocketSlots(Infinity);
  return new SocketSlots(connectionsMax ?? Math.floor((openFilesLimit() ?? 2 * SOCKETS_DEFAULT) / 2));
}
