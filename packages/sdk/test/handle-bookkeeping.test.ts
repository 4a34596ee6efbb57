import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Work, WorkBook } from "../src/consumer/handling/work-book.js";

/*
 * The bookkeeping of parallel handlers on a clock that the test turns: messages start, end and are committed in any
 * interleaving, and the process may end at any step.
 */

interface Item {
  readonly partition: number;
  readonly offset: number;
  readonly key: number | undefined;
}

/** What a topic holds: per partition the key of each message. */
const topics = fc.array(fc.array(fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }), { maxLength: 30 }), {
  minLength: 1,
  maxLength: 4,
});

/** One run of a process over a topic: takes, starts and ends messages, commits, and crashes after so many steps. */
class Run {
  readonly book = new WorkBook<Item>();
  readonly running: Work<Item>[] = [];
  /** Messages that were handled in this run, and those that were started. */
  readonly handled = new Set<string>();
  readonly started: Item[] = [];
  /** What the process counts, and what the server has of it. */
  readonly counted: number[];
  readonly committed: number[];
  readonly #topic: readonly (readonly (number | undefined)[])[];
  readonly #next: number[];

  constructor(topic: readonly (readonly (number | undefined)[])[], committed: readonly number[]) {
    this.#topic = topic;
    this.committed = [...committed];
    this.counted = [...committed];
    this.#next = committed.map((offset) => offset + 1);
  }

  get isDone(): boolean {
    return this.running.length === 0 && this.#topic.every((messages, id) => (this.#next[id] ?? 0) >= messages.length);
  }

  take(partition: number): void {
    const offset = this.#next[partition] ?? 0;
    const messages = this.#topic[partition] ?? [];
    if (offset >= messages.length) return;
    this.#next[partition] = offset + 1;
    const key = messages[offset];
    this.book.add({ partition, offset, key }, partition, key, 1);
  }

  start(): void {
    const work = this.book.start();
    if (work === undefined) return;
    const { item } = work;
    // Nothing of its key runs beside it, and what came before it is handled.
    if (item.key !== undefined) {
      expect(this.running.filter((other) => other.item.key === item.key)).toEqual([]);
      const earlier = this.started.filter((other) => other.key === item.key && other.partition === item.partition);
      expect(Math.max(-1, ...earlier.map(({ offset }) => offset))).toBeLessThan(item.offset);
    }
    this.running.push(work);
    this.started.push(item);
  }

  end(at: number): void {
    const [work] = this.running.splice(at % Math.max(1, this.running.length), 1);
    if (work === undefined) return;
    this.handled.add(nameOf(work.item));
    const advance = this.book.finish(work);
    if (advance === undefined) return;
    const { partition, offset } = advance.last;
    expect(offset - (this.counted[partition] ?? -1)).toBe(advance.messages);
    this.counted[partition] = offset;
    // What may be committed has nothing unfinished before it.
    for (let before = (this.committed[partition] ?? -1) + 1; before <= offset; before++) {
      expect(this.handled).toContain(nameOf({ partition, offset: before }));
    }
  }

  commit(partition: number): void {
    this.committed[partition] = this.counted[partition] ?? -1;
  }
}

const nameOf = ({ partition, offset }: Pick<Item, "partition" | "offset">): string => `${partition}/${offset}`;

const step = fc.record({
  kind: fc.constantFrom("take", "take", "start", "start", "end", "end", "commit"),
  at: fc.nat(1000),
});

function play(run: Run, partitions: number, { kind, at }: { readonly kind: string; readonly at: number }): void {
  if (kind === "take") run.take(at % partitions);
  else if (kind === "start") run.start();
  else if (kind === "end") run.end(at);
  else run.commit(at % partitions);
}

/** Goes on until everything is handled and committed. */
function complete(run: Run, partitions: number): void {
  for (let turn = 0; !run.isDone; turn++) {
    run.take(turn % partitions);
    run.start();
    run.end(turn);
  }
  while (run.running.length > 0) run.end(0);
  for (let partition = 0; partition < partitions; partition++) run.commit(partition);
}

describe("the books of a handler", () => {
  test("in any interleaving nothing unfinished is committed, keys stay in order, and a crash repeats only what was not", () => {
    fc.assert(
      fc.property(topics, fc.array(fc.array(step, { maxLength: 80 }), { maxLength: 4 }), (topic, lives) => {
        let committed = topic.map(() => -1);
        const everHandled = new Set<string>();
        for (const steps of lives) {
          const run = new Run(topic, committed);
          for (const one of steps) play(run, topic.length, one);
          for (const { partition, offset } of run.started) {
            // What was committed before this life is not handled again.
            expect(offset).toBeGreaterThan(committed[partition] ?? -1);
          }
          for (const name of run.handled) everHandled.add(name);
          // The crash: what the server has is what is left.
          committed = run.committed;
        }
        const last = new Run(topic, committed);
        complete(last, topic.length);
        for (const name of last.handled) everHandled.add(name);
        expect(last.committed).toEqual(topic.map((messages) => messages.length - 1));
        expect(everHandled.size).toBe(topic.reduce((sum, messages) => sum + messages.length, 0));
      }),
      { numRuns: 300 },
    );
  });

  test("a partition that is given up counts no more, starts nothing more, and lets others of its key go on", () => {
    const book = new WorkBook<string>();
    book.add("a0", 0, "k", 1);
    book.add("a1", 0, "k", 1);
    book.add("b0", 1, "k", 1);
    const first = book.start();
    if (first === undefined) throw new Error("nothing to start");
    expect(book.start()).toBeUndefined();
    book.drop(0);
    expect(book.openOf(0)).toBe(0);
    expect(book.finish(first)).toBeUndefined();
    const next = book.start();
    expect(next?.item).toBe("b0");
    expect(next === undefined ? undefined : book.finish(next)).toEqual({ last: "b0", messages: 1 });
  });

  test("a message that is not handled holds its partition where it is", () => {
    const book = new WorkBook<number>();
    for (let i = 0; i < 3; i++) book.add(i, 0, undefined, 10);
    const works = [book.start(), book.start(), book.start()].flatMap((work) => work ?? []);
    const [stuck, ...others] = works;
    if (stuck === undefined) throw new Error("nothing started");
    for (const work of others) expect(book.finish(work)).toBeUndefined();
    book.release(stuck);
    expect(book.openOf(0)).toBe(3);
    expect(book.openBytesOf(0)).toBe(30);
    expect(book.firstOpen()).toEqual([0]);
  });

  test("memory goes with what is passed", () => {
    const book = new WorkBook<number>();
    for (let i = 0; i < 10_000; i++) {
      book.add(i, 0, i % 7, 100);
      const work = book.start();
      if (work !== undefined) book.finish(work);
    }
    expect(book.openOf(0)).toBe(0);
    expect(book.openBytesOf(0)).toBe(0);
    expect(book.running).toBe(0);
  });
});
