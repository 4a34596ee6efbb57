/** What the addon says about a ring that it opened. Positions are bytes within `rings`. */
export interface RingDescription {
  readonly id: number;
  readonly flags: number;
  readonly features: number;
  /** Queue heads, tails, flags and completions, mapped from the kernel. */
  readonly rings: ArrayBuffer;
  /** Submission entries, 64 bytes each, mapped from the kernel. */
  readonly entries: ArrayBuffer;
  /** Words that are shared with the addon, see `RingState`. */
  readonly state: ArrayBuffer;
  readonly submissionEntries: number;
  readonly submissionHead: number;
  readonly submissionTail: number;
  readonly submissionFlags: number;
  readonly completionEntries: number;
  readonly completionHead: number;
  readonly completionTail: number;
  readonly completions: number;
}

/** Words of `RingDescription.state`. */
export const RingState = {
  /** Operations whose last completion was not seen yet. */
  inFlight: 0,
  /** Entries that found no room in the submission queue. */
  staged: 1,
  /** 1 while the ring keeps the process alive; the addon clears it. */
  referenced: 2,
  /** 1 asks for a call before the next submission. */
  wanted: 3,
} as const;

/** The one slab of the process. */
export interface SlabDescription {
  readonly bytes: number;
  readonly windowBytes: number;
  /** High word of the address; the low one is 0. */
  readonly baseHigh: number;
  readonly windows: readonly ArrayBuffer[];
}

export type SocketOption = "noDelay" | "keepAlive" | "keepAliveIdleSeconds" | "sendBufferBytes" | "receiveBufferBytes";

/**
 * The native functions. Arguments are checked: a TypeError, a RangeError or an Error with `code` is thrown for wrong
 * ones, and one with `code`, `errno` and `syscall` when the system refuses.
 */
export interface Addon {
  readonly revision: number;

  /** `turn` is called when there are completions, and, with true, before a submission when that was asked for. */
  ringOpen(entries: number, completionEntries: number, turn: (isBeforeSubmit: boolean) => void): RingDescription;
  /** Submits what is queued; 0, or the errno of a refusal. */
  ringEnter(ring: number): number;
  ringReference(ring: number): void;
  /** Cancels and waits, at most seconds. Returns how many operations did not end; their memory must not be reused. */
  ringClose(ring: number): number;

  /** The same slab for every caller in the process; ERR_SLAB_SIZE when it has another size already. */
  slabOpen(bytes: number): SlabDescription;
  /** Gives pages back; they read as zeros afterwards. */
  slabDiscard(offset: number, length: number): void;

  /** Writes everything, and returns how much that was. */
  pwritev(descriptor: number, buffers: readonly Uint8Array[], position: number): number;
  /** One read. With `cachedOnly` -1 when the disk would have to be waited for. */
  pread(descriptor: number, into: Uint8Array, position: number, cachedOnly: boolean): number;
  ftruncate(descriptor: number, size: number): void;
  fallocate(descriptor: number, keepsSize: boolean, offset: number, length: number): void;

  /** `host` is an address; `::` takes IPv4 as well. Returns the descriptor. */
  socketListen(host: string, port: number, backlog: number, sharesPort: boolean): number;
  socketAddress(descriptor: number, isPeer: boolean): { readonly address: string; readonly port: number };
  socketOption(descriptor: number, name: SocketOption, value: number): void;
  socketQuietMillis(descriptor: number): number;
  /** Bytes that the kernel took at once, -1 when it has no room. */
  socketSend(descriptor: number, buffers: readonly Uint8Array[]): number;
  /** 0 ends receiving, 1 sending, 2 both. */
  socketShutdown(descriptor: number, ways: 0 | 1 | 2): void;
  socketClose(descriptor: number): void;

  /** The cores that this thread may run on, ascending. */
  threadCores(): number[];
  /** This thread runs on no other cores from now on. */
  threadPin(cores: readonly number[]): void;

  /** A number, unique in the process, by which other threads make the listener run in this one. */
  wakeupOpen(listener: () => void): number;
  /** False when there is no such wake-up any more. */
  wakeupSend(wakeup: number): boolean;
  /** Only where it was opened. */
  wakeupClose(wakeup: number): void;
}

/** The revision that this code was written for. */
export const ADDON_REVISION = 1;

const FUNCTIONS = [
  ...["ringOpen", "ringEnter", "ringReference", "ringClose", "slabOpen", "slabDiscard"],
  ...["pwritev", "pread", "ftruncate", "fallocate"],
  ...["socketListen", "socketAddress", "socketOption", "socketQuietMillis", "socketSend", "socketShutdown"],
  ...["socketClose", "threadCores", "threadPin", "wakeupOpen", "wakeupSend", "wakeupClose"],
];

export function isAddon(exports: unknown): exports is Addon {
  if (typeof exports !== "object" || exports === null) return false;
  const members: Partial<Record<string, unknown>> = { ...exports };
  return members["revision"] === ADDON_REVISION && FUNCTIONS.every((name) => typeof members[name] === "function");
}
