import { type Addon, type RingDescription, RingState } from "../addon/addon.js";
import type { Block, Slab, SlabAllocator } from "../memory/index.js";
import type { Completion } from "./completion.js";
import { CancelFlag, CompletionFlag, Errno, MessageFlag, Operation, QueueFlag, SocketFlag } from "./kernel.js";
import { OperationTable } from "./operation-table.js";
import { RingError } from "./ring-errors.js";
import { SubmissionQueue } from "./submission-queue.js";

export interface RingOptions {
  readonly addon: Addon;
  /** A mapped one: every buffer of an operation lies in it. */
  readonly slab: Slab;
  /** For what the ring itself needs in the kernel's reach: paths, tables of buffers, copies. */
  readonly blocks: SlabAllocator;
  /** Entries of the submission queue, a power of two. Default 1024. */
  readonly entries?: number;
  /** Operations under way at a time; more are refused with ERR_RING_FULL. Default 65,536. */
  readonly operationsMax?: number;
}

/** Something that prepares operations only once per turn of the event loop, right before they are submitted. */
export interface TurnHook {
  beforeSubmit(): void;
}

const ENTRIES_DEFAULT = 1024;
const OPERATIONS_MAX_DEFAULT = 65_536;
/** Completions that fit beside each other per submission entry: multishot operations and bursts make many. */
const COMPLETIONS_PER_ENTRY = 4;
const COMPLETION_WORDS = 4;
const GIVES_DESCRIPTOR = 0x8000_0000 | 0;
const CLOSE_STEP_MILLIS = 20;
const CLOSE_MILLIS_MAX = 5000;

const IGNORED: Completion = { completed: () => undefined };

/**
 * An io_uring on the event loop of this thread. Operations are written into memory that the kernel shares and go to it
 * together, once per turn of the loop. It keeps the process alive while something is under way.
 *
 * Offsets are those of the slab. The memory of an operation must stay untouched until its last completion.
 */
export class Ring {
  readonly addon: Addon;
  readonly slab: Slab;
  readonly blocks: SlabAllocator;
  private readonly description: RingDescription;
  private readonly queue: SubmissionQueue;
  private readonly operations: OperationTable;
  private readonly words: Int32Array;
  private readonly state: Int32Array;
  private readonly completionHead: number;
  private readonly completionTail: number;
  private readonly completionMask: number;
  private readonly completions: number;
  private readonly submissionFlags: number;
  private readonly closeCallbacks: (() => void)[] = [];
  private hooks: TurnHook[] = [];
  private status: "open" | "closing" | "closed" = "open";
  private closed: Promise<void> | undefined;

  private constructor(options: RingOptions) {
    const { addon, slab, blocks, entries = ENTRIES_DEFAULT, operationsMax = OPERATIONS_MAX_DEFAULT } = options;
    if (!slab.isMapped) throw new TypeError("a ring needs a slab that is mapped by the addon");
    this.addon = addon;
    this.slab = slab;
    this.blocks = blocks;
    this.description = addon.ringOpen(entries, entries * COMPLETIONS_PER_ENTRY, this.turn);
    this.queue = new SubmissionQueue(this.description);
    this.operations = new OperationTable(operationsMax);
    this.words = new Int32Array(this.description.rings);
    this.state = new Int32Array(this.description.state);
    this.completionHead = this.description.completionHead / 4;
    this.completionTail = this.description.completionTail / 4;
    this.completionMask = this.description.completionEntries - 1;
    this.completions = this.description.completions / 4;
    this.submissionFlags = this.description.submissionFlags / 4;
  }

  /** Throws the system's error where io_uring is refused; `probe` says why in words. */
  static open(options: RingOptions): Ring {
    return new Ring(options);
  }

  get isOpen(): boolean {
    return this.status === "open";
  }

  /** Operations whose last completion is still to come. */
  get inFlight(): number {
    return this.status === "closed" ? 0 : (this.state[RingState.inFlight] ?? 0);
  }

  /** Receives into the slab. With `waitsForAll` it completes when all of it is there, or the stream ends. */
  receive(
    descriptor: number,
    offset: number,
    length: number,
    waitsForAll: boolean,
    waitsFirst: boolean,
    owner: Completion,
    tag: number,
  ): void {
    this.begin(Operation.receive, descriptor, waitsFirst ? SocketFlag.pollFirst : 0, owner, tag, 0);
    this.finishAt(0, offset, length, waitsForAll ? MessageFlag.waitAll : 0);
  }

  /** Sends from the slab; completes when the kernel took all of it, or the stream broke. */
  send(descriptor: number, offset: number, length: number, owner: Completion, tag: number): void {
    this.begin(Operation.send, descriptor, 0, owner, tag, 0);
    this.finishAt(0, offset, length, MessageFlag.waitAll | MessageFlag.noSignal);
  }

  /** The same for a message header with its table of buffers, both in the slab. */
  sendMessage(descriptor: number, headerOffset: number, owner: Completion, tag: number): void {
    this.begin(Operation.sendMessage, descriptor, 0, owner, tag, 0);
    this.finishAt(0, headerOffset, 1, MessageFlag.waitAll | MessageFlag.noSignal);
  }

  /** Completes once for every connection, with its descriptor. Returns what `cancel` takes. */
  acceptAll(descriptor: number, flags: number, owner: Completion, tag: number): bigint {
    const { multishotAccept } = SocketFlag;
    const name = this.begin(Operation.accept, descriptor, multishotAccept, owner, tag, GIVES_DESCRIPTOR);
    this.finish(0, 0, 0, 0, 0, flags);
    return name;
  }

  read(descriptor: number, offset: number, length: number, position: number, owner: Completion, tag: number): void {
    this.begin(Operation.read, descriptor, 0, owner, tag, 0);
    this.finishAt(position, offset, length, 0);
  }

  write(descriptor: number, offset: number, length: number, position: number, owner: Completion, tag: number): void {
    this.begin(Operation.write, descriptor, 0, owner, tag, 0);
    this.finishAt(position, offset, length, 0);
  }

  /** `flags` are `SyncFlag`s. */
  sync(descriptor: number, flags: number, owner: Completion, tag: number): void {
    this.begin(Operation.fsync, descriptor, 0, owner, tag, 0);
    this.finish(0, 0, 0, 0, 0, flags);
  }

  /** Completes once when the descriptor is ready for one of the events. */
  poll(descriptor: number, events: number, owner: Completion, tag: number): void {
    this.begin(Operation.pollAdd, descriptor, 0, owner, tag, 0);
    this.finish(0, 0, 0, 0, 0, events);
  }

  /**
   * An operation that is not worth a method of its own. `first` is the field of offsets, or the second address, `second`
   * the address field; addresses are offsets of the slab where `isAddress` says so.
   */
  operate(operation: RareOperation, owner: Completion, tag: number): void {
    const { code, descriptor, length = 0, flags = 0, givesDescriptor = false } = operation;
    this.begin(code, descriptor, 0, owner, tag, givesDescriptor ? GIVES_DESCRIPTOR : 0);
    const { slab } = this;
    const { secondPath, position = 0, path, size = 0 } = operation;
    this.finish(
      secondPath === undefined ? position | 0 : slab.addressLow(secondPath.offset) | 0,
      secondPath === undefined ? Math.floor(position / 2 ** 32) : slab.addressHigh(secondPath.offset),
      path === undefined ? size | 0 : slab.addressLow(path.offset) | 0,
      path === undefined ? Math.floor(size / 2 ** 32) : slab.addressHigh(path.offset),
      length,
      flags,
    );
  }

  /** Ends an operation early; it then completes with ECANCELED, or with what it had. */
  cancel(name: bigint): void {
    this.begin(Operation.asyncCancel, -1, 0, IGNORED, 0, 0);
    this.finish(0, 0, Number(name & 0xffff_ffffn) | 0, Number(name >> 32n) | 0, 0, 0);
  }

  /** The hook is called once, right before the next submission. */
  callBeforeSubmit(hook: TurnHook): void {
    if (this.status !== "open") return;
    this.hooks.push(hook);
    this.state[RingState.wanted] = 1;
    // The loop must come to the submission even when nothing is under way.
    if (this.state[RingState.referenced] === 0) this.addon.ringReference(this.description.id);
  }

  /** The callback runs when the ring is closed: what the ring's users keep for it goes then. */
  atClose(callback: () => void): void {
    this.closeCallbacks.push(callback);
  }

  /** Cancels everything, waits for it, and gives the ring back. */
  close(): Promise<void> {
    this.closed ??= this.finishAll();
    return this.closed;
  }

  /** The same at once, blocking for a moment. Operations that were under way complete with ECANCELED. */
  destroy(): void {
    if (this.status === "closed") return;
    this.status = "closed";
    const left = this.addon.ringClose(this.description.id);
    // The kernel may still use the memory of those that did not end: better that it is never free again.
    if (left > 0) return;
    for (const slot of this.operations.slots()) {
      const owner = this.operations.owner(slot, this.operations.generation(slot));
      const tag = this.operations.tag(slot);
      this.operations.remove(slot);
      owner?.completed(-Errno.canceled, tag, 0);
    }
    for (const callback of this.closeCallbacks) callback();
  }

  /** Called by the addon: when there are completions, and before a submission that something waits for. */
  private readonly turn = (isBeforeSubmit: boolean): void => {
    if (!this.isUsable()) return;
    this.harvest();
    if (isBeforeSubmit) this.runHooks();
    if (this.isUsable()) this.queue.moveStaged();
  };

  private runHooks(): void {
    if (!this.isUsable()) return;
    const { hooks } = this;
    this.hooks = [];
    this.state[RingState.wanted] = 0;
    for (const hook of hooks) hook.beforeSubmit();
  }

  private isUsable(): boolean {
    return this.status !== "closed";
  }

  private harvest(): void {
    // As many as fit, then the loop gets its turn; it calls again at once when there are more.
    let budget = this.completionMask + 1;
    do {
      let head = this.words[this.completionHead] ?? 0;
      const tail = Atomics.load(this.words, this.completionTail);
      for (; head !== tail && budget > 0; budget--) {
        const at = this.completions + (head & this.completionMask) * COMPLETION_WORDS;
        const slot = this.words[at] ?? 0;
        const generation = this.words[at + 1] ?? 0;
        const result = this.words[at + 2] ?? 0;
        const flags = this.words[at + 3] ?? 0;
        head = (head + 1) | 0;
        // Taken before anybody hears of it: whoever does may throw, or close the ring, which takes what is left.
        Atomics.store(this.words, this.completionHead, head);
        this.complete(slot, generation, result, flags);
        if (!this.isUsable()) return;
      }
    } while (budget > 0 && this.hasOverflow());
  }

  /** Completions that found no room wait in the kernel until it is entered. */
  private hasOverflow(): boolean {
    if (((Atomics.load(this.words, this.submissionFlags) & QueueFlag.completionOverflow) | 0) === 0) return false;
    this.addon.ringEnter(this.description.id);
    return true;
  }

  private complete(slot: number, generation: number, result: number, flags: number): void {
    const owner = this.operations.owner(slot, generation);
    if (owner === undefined) return;
    const tag = this.operations.tag(slot);
    if ((flags & CompletionFlag.more) === 0) {
      this.operations.remove(slot);
      this.state[RingState.inFlight] = (this.state[RingState.inFlight] ?? 0) - 1;
    }
    owner.completed(result, tag, flags);
  }

  /** Starts an entry: the first words and the user data. Returns the user data. */
  private begin(
    code: number,
    descriptor: number,
    priority: number,
    owner: Completion,
    tag: number,
    resultFlag: number,
  ): bigint {
    if (this.status === "closed" || (this.status === "closing" && owner !== IGNORED)) {
      throw new RingError("ERR_RING_CLOSED", "the ring is closed");
    }
    const slot = this.operations.add(owner, tag);
    if (slot === -1) {
      const { capacity } = this.operations;
      throw new RingError("ERR_RING_FULL", `${capacity} operations are under way; wait for some of them`);
    }
    const generation = this.operations.generation(slot) | resultFlag;
    const inFlight = this.state[RingState.inFlight] ?? 0;
    this.state[RingState.inFlight] = inFlight + 1;
    if (this.state[RingState.referenced] === 0) this.addon.ringReference(this.description.id);
    this.queue.reserve(this.makeRoom);
    const { target, at } = this.queue;
    target[at] = code | (priority << 16);
    target[at + 1] = descriptor;
    target[at + 8] = slot;
    target[at + 9] = generation;
    return resultFlag === 0 ? 0n : (BigInt(generation >>> 0) << 32n) | BigInt(slot);
  }

  private finishAt(position: number, offset: number, length: number, flags: number): void {
    const { slab } = this;
    const high = position < 2 ** 32 ? 0 : Math.floor(position / 2 ** 32);
    this.finish(position | 0, high, slab.addressLow(offset) | 0, slab.addressHigh(offset), length, flags);
  }

  private finish(
    positionLow: number,
    positionHigh: number,
    addressLow: number,
    addressHigh: number,
    length: number,
    flags: number,
  ): void {
    const { target, at } = this.queue;
    target[at + 2] = positionLow;
    target[at + 3] = positionHigh;
    target[at + 4] = addressLow;
    target[at + 5] = addressHigh;
    target[at + 6] = length;
    target[at + 7] = flags;
    this.queue.push();
  }

  private readonly makeRoom = (): void => {
    this.addon.ringEnter(this.description.id);
  };

  private async finishAll(): Promise<void> {
    if (this.status !== "open") return;
    this.status = "closing";
    const deadline = performance.now() + CLOSE_MILLIS_MAX;
    for (let waitMillis = 0; this.inFlight > 0 && performance.now() < deadline; waitMillis = CLOSE_STEP_MILLIS) {
      this.begin(Operation.asyncCancel, -1, 0, IGNORED, 0, 0);
      this.finish(0, 0, 0, 0, 0, CancelFlag.all | CancelFlag.any);
      this.makeRoom();
      await new Promise((wake) => setTimeout(wake, waitMillis));
    }
    this.destroy();
    // What its users do about the end is done when this resolves.
    await new Promise((wake) => setImmediate(wake));
  }
}

export interface RareOperation {
  readonly code: number;
  readonly descriptor: number;
  readonly path?: Block | { readonly offset: number };
  readonly secondPath?: { readonly offset: number };
  readonly position?: number;
  /** Takes the place of the address. */
  readonly size?: number;
  readonly length?: number;
  readonly flags?: number;
  readonly givesDescriptor?: boolean;
}
