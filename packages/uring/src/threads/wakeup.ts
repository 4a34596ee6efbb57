import type { Addon } from "../addon/index.js";

/** Lets any thread of the process wake the event loop of this one. */
export class Wakeup {
  /** How other threads name it: a number from 1 on, which they may be told in any way. */
  readonly id: number;
  private readonly addon: Addon;
  private isClosed = false;

  private constructor(addon: Addon, listener: () => void) {
    this.addon = addon;
    this.id = addon.wakeupOpen(listener);
  }

  /**
   * The listener runs in the event loop of this thread soon after somebody woke it, once for any number of calls until then.
   * It keeps no process alive, and ends with its thread.
   */
  static open(addon: Addon, listener: () => void): Wakeup {
    return new Wakeup(addon, listener);
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.addon.wakeupClose(this.id);
  }
}

/** Wakes a thread by the number of its wake-up; false when that is closed, so that nobody hears it. */
export const wake = (addon: Addon, id: number): boolean => addon.wakeupSend(id);
