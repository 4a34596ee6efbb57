import type { ReadMessage } from "../raw-client/index.js";
import { type BatchName, Content, type Shape } from "./content.js";

const FAULTS_MAX = 5;

interface Place extends BatchName {
  readonly count: number;
}

/** What one partition owes, whoever writes to it. */
export class Ledger {
  readonly title: string;
  /** `newest`: retention or a request may take old messages away, from the front and in whole segments. */
  readonly keeps: "everything" | "newest";
  private readonly content: Content;
  private readonly shapes = new Map<number, Shape>();
  private readonly byOffset = new Map<number, Place>();
  private readonly byName = new Map<string, number>();
  /** Sent and not answered, perhaps for ever: stored whole or not at all. */
  private readonly open = new Set<string>();
  private ended = 0;
  private lowest = 0;

  constructor(title: string, content: Content, keeps: "everything" | "newest") {
    this.title = title;
    this.content = content;
    this.keeps = keeps;
  }

  /** One past the highest acknowledged offset. */
  get end(): number {
    return this.ended;
  }

  get batches(): number {
    return this.byOffset.size;
  }

  admit(lane: number, shape: Shape): void {
    this.shapes.set(lane, shape);
  }

  sent(name: BatchName): void {
    this.open.add(keyOf(name));
  }

  acknowledge(name: BatchName, count: number, baseOffset: number): void {
    const fault = this.place(name, count, baseOffset);
    if (fault !== undefined) throw new Error(`${this.title}: ${fault}`);
    this.open.delete(keyOf(name));
  }

  /**
   * Compares what is stored from `from` on; messages come in order. A batch that was only sent counts when it is whole.
   * `oldest` asks for the oldest offset that is there.
   */
  async faults(
    stored: AsyncIterable<ReadMessage>,
    from: number,
    oldest: () => Promise<number | undefined>,
  ): Promise<string[]> {
    const faults: string[] = [];
    const report = (fault: string): void => {
      if (faults.length < FAULTS_MAX) faults.push(`${this.title}: ${fault}`);
    };
    let next: number | undefined;
    let batch: { name: BatchName; base: number; index: number; count: number } | undefined;
    let first: number | undefined;
    for await (const { offset, payload } of stored) {
      first ??= offset;
      if (next !== undefined && offset !== next) {
        if (!this.mayJumpTo(offset)) report(`offset ${offset} follows offset ${next - 1}`);
        batch = undefined;
      }
      next = offset + 1;
      const name = Content.nameOf(payload);
      const shape = this.shapes.get(name?.lane ?? -1);
      if (name === undefined || shape === undefined || !this.content.isTrue(name, name.index, shape, payload)) {
        report(`offset ${offset} holds bytes that nobody sent`);
        batch = undefined;
        continue;
      }
      const { lane, index, count } = name;
      const base = offset - index;
      if (batch !== undefined && (batch.base !== base || keyOf(batch.name) !== keyOf(name)))
        report(`offset ${offset} begins another batch before the last one ended`);
      if (batch === undefined && index !== 0 && base >= from) report(`offset ${offset} begins inside a batch`);
      const fault = this.place({ lane, batch: name.batch }, count, base);
      if (fault !== undefined) report(fault);
      batch = index + 1 === count ? undefined : { name, base, index, count };
    }
    if (batch !== undefined) report(`the batch at offset ${batch.base} is cut`);
    // Retention may have overtaken the reader.
    const isOvertaken = this.keeps === "newest" && ((await oldest()) ?? Infinity) >= (next ?? from);
    if (!isOvertaken && (next ?? from) < this.ended)
      report(`ends at offset ${next ?? from}, acknowledged is ${this.ended}`);
    this.judgeBeginning(from, first, report);
    return faults;
  }

  /** Retention may take segments while they are read. */
  private mayJumpTo(offset: number): boolean {
    return this.keeps === "newest" && this.byOffset.has(offset);
  }

  private judgeBeginning(from: number, first: number | undefined, report: (fault: string) => void): void {
    if (first === undefined) return;
    if (first < this.lowest) report(`begins at offset ${first}, and began at ${this.lowest} before`);
    if (first > from && this.keeps === "everything") report(`begins at offset ${first} instead of ${from}`);
    if (first > from && !this.byOffset.has(first)) report(`begins at offset ${first}, where no batch begins`);
    if (first > from) this.lowest = first;
  }

  private place(name: BatchName, count: number, base: number): string | undefined {
    const key = keyOf(name);
    const known = this.byName.get(key);
    if (known === base) return undefined;
    if (known !== undefined) return `${key} is at offset ${known} and at ${base}`;
    const other = this.byOffset.get(base);
    if (other !== undefined) return `offset ${base} was given to ${keyOf(other)}, now it is ${key}`;
    if (!this.open.has(key)) return `${key} at offset ${base} was never sent here`;
    this.byName.set(key, base);
    this.byOffset.set(base, { ...name, count });
    this.ended = Math.max(this.ended, base + count);
    return undefined;
  }
}

const keyOf = ({ lane, batch }: BatchName): string => `batch ${batch} of lane ${lane}`;
