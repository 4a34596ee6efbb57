import type { Memory } from "@iggy/storage";
import { type LaneProducer, RECORD_BYTES_MAX } from "./lane.js";
import { RecordWriter } from "./record.js";
import { type Exporter, REFERENCE_BYTES_MAX } from "./transfer.js";

/** A record that waits for room; its body, when it has one, comes last and is not copied yet. */
interface Late {
  readonly fields: Uint8Array;
  readonly pieces: readonly Uint8Array[] | undefined;
  readonly memory: readonly Memory[];
}

/**
 * The sending end of a lane. What must arrive is kept here, in order, while the lane is full or its bodies are not taken:
 * requests are not admitted then, so what waits is bounded by what is already under way.
 */
export class Outbox {
  private readonly lane: LaneProducer;
  private readonly exporter: Exporter;
  private readonly wake: () => void;
  private readonly waiting: Late[] = [];
  private late: { readonly record: RecordWriter; readonly bytes: Uint8Array } | undefined;
  private lateBody: Pick<Late, "pieces" | "memory"> = noBody;

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

  /** Room for a record that must arrive, with a body of so many bytes. `commit` follows. */
  begin(bytesMax: number, bodyBytes = 0): RecordWriter {
    const record = this.exporter.hasRoom(bodyBytes) ? this.offer(bytesMax) : undefined;
    if (record !== undefined) return record;
    const bytes = new Uint8Array(Math.min(bytesMax, RECORD_BYTES_MAX));
    this.late = { record: new RecordWriter(bytes), bytes };
    return this.late.record;
  }

  /**
   * Ends the record that was begun with a body; see `Exporter`. Without `memory` the bytes are the sender's own again once
   * the call returns.
   */
  body(record: RecordWriter, pieces: readonly Uint8Array[], memory: readonly Memory[] = []): void {
    if (record !== this.late?.record) this.exporter.send(record, pieces, memory);
    else this.lateBody = { pieces: memory.length > 0 ? pieces : pieces.map((piece) => piece.slice()), memory };
  }

  commit(): void {
    const { late } = this;
    if (late === undefined) {
      this.lane.commit();
      this.wake();
      return;
    }
    this.waiting.push({ fields: late.bytes.subarray(0, late.record.offset), ...this.lateBody });
    this.late = undefined;
    this.lateBody = noBody;
    if (this.waiting.length === 1 && !this.lane.waitForRoom()) this.flush();
  }

  /** The other side has taken something: what waits goes on. */
  flush(): void {
    while (this.waiting.length > 0) {
      const sent = this.sendWaiting();
      if (sent > 0) this.wake();
      if (this.waiting.length === 0 || this.lane.waitForRoom()) return;
    }
  }

  private sendWaiting(): number {
    let sent = 0;
    for (const { fields, pieces, memory } of this.waiting) {
      const isRoom = pieces === undefined || this.exporter.hasRoom(lengthOf(pieces));
      const bodyBytes = pieces === undefined ? 0 : REFERENCE_BYTES_MAX;
      const record = isRoom ? this.lane.begin(fields.length + bodyBytes) : undefined;
      if (record === undefined) break;
      record.raw(fields);
      if (pieces !== undefined) this.exporter.send(record, pieces, memory);
      this.lane.commit();
      sent++;
    }
    this.waiting.splice(0, sent);
    return sent;
  }
}

const noBody: Pick<Late, "pieces" | "memory"> = { pieces: undefined, memory: [] };

export const lengthOf = (pieces: readonly Uint8Array[]): number => pieces.reduce((sum, piece) => sum + piece.length, 0);
