import type { Memory } from "@iggy/storage";
import { type LaneProducer, RECORD_BYTES_MAX } from "./lane.js";
import { RecordWriter } from "./record.js";
import type { Exporter } from "./transfer.js";

/** A record that waits for room. */
const LATE_BYTES = RECORD_BYTES_MAX;

/**
 * The sending end of a lane. What must arrive is kept here, in order, while the lane is full: requests are not admitted
 * then, so what waits is bounded by what is already under way.
 */
export class Outbox {
  private readonly lane: LaneProducer;
  private readonly exporter: Exporter;
  private readonly wake: () => void;
  private readonly waiting: Uint8Array[] = [];
  private late: RecordWriter | undefined;
  private lateBytes = new Uint8Array(0);

  /** `wake` makes the other side look. */
  constructor(lane: LaneProducer, exporter: Exporter, wake: () => void) {
    this.lane = lane;
    this.exporter = exporter;
    this.wake = wake;
  }

  /** Records that wait for room in the lane. */
  get backlog(): number {
    return this.waiting.length;
  }

  /** Room for a record that may be refused: undefined while the lane is full. `commit` follows. */
  offer(bytesMax: number): RecordWriter | undefined {
    return this.waiting.length === 0 ? this.lane.begin(bytesMax) : undefined;
  }

  /** Room for a record that must arrive. `commit` follows. */
  begin(bytesMax: number): RecordWriter {
    const record = this.offer(bytesMax);
    if (record !== undefined) return record;
    this.lateBytes = new Uint8Array(Math.min(bytesMax, LATE_BYTES));
    this.late = new RecordWriter(this.lateBytes);
    return this.late;
  }

  /** Adds a body to the record that was begun; see `Exporter`. */
  body(record: RecordWriter, pieces: readonly Uint8Array[], memory: readonly Memory[] = []): void {
    this.exporter.send(record, pieces, memory);
  }

  commit(): void {
    if (this.late === undefined) {
      this.lane.commit();
      this.wake();
      return;
    }
    this.waiting.push(this.lateBytes.subarray(0, this.late.offset));
    this.late = undefined;
    if (this.waiting.length === 1 && !this.lane.waitForRoom()) this.flush();
  }

  /** The other side has taken something: what waits goes on. */
  flush(): void {
    if (this.waiting.length === 0) return;
    let sent = 0;
    for (const bytes of this.waiting) {
      const record = this.lane.begin(bytes.length);
      if (record === undefined) break;
      record.raw(bytes);
      this.lane.commit();
      sent++;
    }
    this.waiting.splice(0, sent);
    if (sent > 0) this.wake();
    if (this.waiting.length > 0 && !this.lane.waitForRoom()) this.flush();
  }
}
