import type { LogMark } from "./log-mark.js";
import type { LogOperation } from "./log-operation.js";

/** Spent slots at the front that are worth a copy of the rest. */
const COMPACT_AT = 64;

/** The operations behind the commit point, written and waiting ones, by number; and the ends of the log before them. */
export class UncommittedOperations {
  private readonly base: LogMark;
  private slots: (LogOperation | undefined)[] = [];
  /** Slot of the operation behind the base. */
  private head = 0;

  constructor(base: LogMark) {
    this.base = base;
  }

  get lastOp(): number {
    return this.base.op + this.slots.length - this.head;
  }

  push(operation: LogOperation): void {
    this.slots.push(operation);
  }

  at(op: number): LogOperation | undefined {
    return op > this.base.op ? this.slots[this.head + op - this.base.op - 1] : undefined;
  }

  /** The operations above `after` up to `last`, in order. */
  range(after: number, last: number): LogOperation[] {
    const found: LogOperation[] = [];
    for (let op = after + 1; op <= last; op++) {
      const operation = this.at(op);
      if (operation !== undefined) found.push(operation);
    }
    return found;
  }

  /** Moves the commit point up to `op`, which is written. */
  commit(op: number): void {
    while (this.base.op < op) {
      const operation = this.slots[this.head];
      if (operation === undefined) return;
      this.base.advance(operation);
      this.slots[this.head] = undefined;
      this.head++;
    }
    if (this.head === this.slots.length) {
      this.slots.length = 0;
      this.head = 0;
    } else if (this.head >= COMPACT_AT && this.head * 2 >= this.slots.length) {
      this.slots = this.slots.slice(this.head);
      this.head = 0;
    }
  }

  /** The ends of the log right behind a written op that is not below the commit point. */
  markAt(op: number): LogMark | undefined {
    if (op < this.base.op || op > this.lastOp) return undefined;
    const mark = this.base.copy();
    for (const operation of this.range(mark.op, op)) mark.advance(operation);
    return mark;
  }

  /** Forgets what is above `op`; gives each to the caller. */
  dropAbove(op: number, dropped: (operation: LogOperation) => void): void {
    const keep = Math.max(this.head, this.head + op - this.base.op);
    for (const operation of this.slots.splice(keep)) if (operation !== undefined) dropped(operation);
  }
}
