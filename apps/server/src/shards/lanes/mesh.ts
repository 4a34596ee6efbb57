import type { Addon } from "@iggy/uring";
import { LaneConsumer, LaneProducer } from "./lane.js";
import { Outbox } from "./outbox.js";
import type { RecordReader } from "./record.js";
import { type LaneEnd, type Seat, SLEEPER_BYTES } from "./seat.js";
import { BodyImporter, CopyingExporter, type Importer, ReferringExporter, type SharedPool } from "./transfer.js";
import { type Wakeup, wakeupOf } from "./wakeup.js";

/** Records of one lane that are handled before other lanes, and then the rest of the event loop, get their turn. */
const TURN_RECORDS = 256;

/** Takes one record; what it needs of it is read before it returns. */
export type RecordHandler = (source: number, record: RecordReader, importer: Importer) => void;

export interface MeshHandlers {
  /** A record of a main lane. */
  main: RecordHandler;
  /** A record of a reply lane. */
  reply: RecordHandler;
}

export interface MeshOptions {
  readonly pool?: SharedPool | undefined;
  readonly addon?: Addon | undefined;
}

interface Inbox {
  readonly source: number;
  readonly lane: LaneConsumer;
  readonly importer: Importer;
  readonly kind: keyof MeshHandlers;
}

/** A shard's door to the other shards: sends records to them, and handles theirs in its event loop. */
export class Mesh {
  readonly shard: number;
  readonly shardCount: number;
  private readonly sleepers: Int32Array;
  private readonly wakeup: Wakeup;
  private readonly mainTo = new Map<number, Outbox>();
  private readonly replyTo = new Map<number, Outbox>();
  private readonly inboxes: readonly Inbox[];
  private readonly mainFrom = new Map<number, Inbox>();
  private readonly ends: readonly LaneEnd[];
  private handlers: MeshHandlers | undefined;
  private isPumping = false;
  private next: NodeJS.Immediate | undefined;
  private isClosed = false;

  /** `pool`, when there is one, is that of every shard. Without the addon shards are woken by messages. */
  constructor(seat: Seat, { pool, addon }: MeshOptions = {}) {
    this.shard = seat.shard;
    this.shardCount = seat.shardCount;
    this.sleepers = new Int32Array(seat.sleepers);
    this.wakeup = wakeupOf(seat, addon);
    const replies: Inbox[] = [];
    for (const { shard, mainTo, mainFrom, replyTo, replyFrom } of seat.neighbours) {
      const wake = (): void => {
        this.wake(shard);
      };
      this.mainTo.set(shard, outboxOf(mainTo, pool, wake));
      this.replyTo.set(shard, outboxOf(replyTo, pool, wake));
      this.mainFrom.set(shard, inboxOf(shard, mainFrom, pool, "main"));
      replies.push(inboxOf(shard, replyFrom, pool, "reply"));
    }
    // The lane that brings the commits of metadata comes first.
    this.inboxes = [...this.mainFrom.values(), ...replies].sort(
      (a, b) => a.source - b.source || a.kind.localeCompare(b.kind),
    );
    this.ends = seat.neighbours.flatMap((other) => [other.mainTo, other.mainFrom, other.replyTo, other.replyFrom]);
  }

  /** From now on records are handled. */
  start(handlers: MeshHandlers): void {
    this.handlers = handlers;
    this.wakeup.onWake(() => {
      this.pump();
    });
    this.pump();
  }

  main(shard: number): Outbox {
    return outboxIn(this.mainTo, shard);
  }

  reply(shard: number): Outbox {
    return outboxIn(this.replyTo, shard);
  }

  /** Every other shard. */
  get others(): Iterable<number> {
    return this.mainTo.keys();
  }

  /**
   * Handles what a shard has sent so far in its main lane, now: whatever somebody else may know by now because of it is
   * known here then. Does nothing within a handler, which runs in the order of the lanes anyway.
   */
  catchUp(shard: number): void {
    if (this.isPumping || this.handlers === undefined) return;
    const inbox = this.mainFrom.get(shard);
    if (inbox === undefined || inbox.lane.isEmpty) return;
    this.isPumping = true;
    try {
      this.drain(inbox, this.handlers, Infinity);
    } finally {
      this.isPumping = false;
    }
  }

  close(): void {
    this.isClosed = true;
    if (this.next !== undefined) clearImmediate(this.next);
    this.wakeup.close();
    for (const { port } of this.ends) port.close();
  }

  private wake(shard: number): void {
    const word = shard * (SLEEPER_BYTES / 4);
    if (Atomics.load(this.sleepers, word) === 0) return;
    if (Atomics.exchange(this.sleepers, word, 0) !== 0) this.wakeup.wake(shard);
  }

  private pump(): void {
    const { handlers } = this;
    if (this.isClosed || this.isPumping || handlers === undefined) return;
    this.isPumping = true;
    try {
      for (const inbox of this.inboxes) this.drain(inbox, handlers, TURN_RECORDS);
      for (const outbox of this.mainTo.values()) outbox.flush();
      for (const outbox of this.replyTo.values()) outbox.flush();
    } finally {
      this.isPumping = false;
    }
    this.sleepOrGoOn();
  }

  private drain({ source, lane, importer, kind }: Inbox, handlers: MeshHandlers, most: number): void {
    let taken = 0;
    try {
      for (let record = lane.next(); record !== undefined; record = lane.next()) {
        taken++;
        try {
          handlers[kind](source, record, importer);
        } finally {
          lane.release();
        }
        if (taken === most) break;
      }
    } finally {
      if (taken > 0 && lane.takeWaitingProducer()) this.wake(source);
    }
  }

  /** Says that it sleeps, then looks once more: whoever wrote after that look sees the word and wakes it. */
  private sleepOrGoOn(): void {
    const word = this.shard * (SLEEPER_BYTES / 4);
    Atomics.store(this.sleepers, word, 1);
    if (this.inboxes.every(({ lane }) => lane.isEmpty)) return;
    Atomics.store(this.sleepers, word, 0);
    this.next = setImmediate(() => {
      this.next = undefined;
      this.pump();
    });
  }
}

function outboxOf({ lane, arena, port }: LaneEnd, pool: SharedPool | undefined, wake: () => void): Outbox {
  const copying = new CopyingExporter(arena, port);
  const exporter = pool === undefined ? copying : new ReferringExporter(pool, copying);
  return new Outbox(new LaneProducer(lane), exporter, wake);
}

const inboxOf = (
  source: number,
  { lane, arena, port }: LaneEnd,
  pool: SharedPool | undefined,
  kind: keyof MeshHandlers,
): Inbox => ({ source, lane: new LaneConsumer(lane), importer: new BodyImporter(arena, port, pool), kind });

function outboxIn(outboxes: ReadonlyMap<number, Outbox>, shard: number): Outbox {
  const outbox = outboxes.get(shard);
  if (outbox === undefined) throw new RangeError(`there is no shard ${shard} to send to`);
  return outbox;
}
