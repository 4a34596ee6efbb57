import type { ServerConfig } from "../config/index.js";
import { openFilesLimit } from "../system/index.js";

/** Open sockets when neither the configuration nor the system names a limit. */
const SOCKETS_DEFAULT = 4096;

/** Counts the open sockets of clients over all listeners that have sockets: above the limit none is accepted. */
export class SocketSlots {
  private readonly max: number;
  private taken = 0;

  constructor(max: number) {
    this.max = max;
  }

  /** False when all are taken; otherwise `free` must follow exactly once. */
  take(): boolean {
    if (this.taken >= this.max) return false;
    this.taken++;
    return true;
  }

  free(): void {
    this.taken--;
  }
}

/** As many as the configuration allows: 0 is no limit; without a value half of what the system lets the process open. */
export function socketSlots({ connectionsMax }: Pick<ServerConfig["messageBus"], "connectionsMax">): SocketSlots {
  if (connectionsMax === 0) return new SocketSlots(Infinity);
  return new SocketSlots(connectionsMax ?? Math.floor((openFilesLimit() ?? 2 * SOCKETS_DEFAULT) / 2));
}
