import { xxh3_64 } from "@iggy/protocol";
import { getU128, getU64, setU128, setU64, viewOf } from "../bytes.js";
import { DamagedFile } from "../errors.js";
import { putFile, readFile, replaceFile } from "../io/files.js";
import type { Io } from "../io/io.js";

/**
 * What a group must never forget about itself, kept twice and written in turns.
 *
 *    0 magic u32 0x53424C4B   16 parent checksum u64, 0     28 payload
 *    4 version u16            24 payload length u32         then XXH3-64 of all before
 *    6 2 zero bytes
 *    8 sequence u64, +1 with each write
 *
 * Payload:
 *
 *    0 cluster u128           26 commit_max u64             66 reserved offset u64
 *   16 replica u8             34 checkpoint_op u64          74 created_view u32
 *   17 replica count u8       42 checkpoint checksum u128   78 incarnation u64
 *   18 view u32               58 next offset u64            86 retry capacity u32
 *   22 log_view u32                                         90 boot id u128
 *                                                          106 synced op u64
 */
const MAGIC = 0x53424c4b;
const VERSION = 1;
const HEAD_BYTES = 28;
const PAYLOAD_BYTES = 114;
const PAYLOAD_BYTES_MAX = 4096;
const SLOTS = ["superblock.a", "superblock.b"] as const;

export interface SuperblockState {
  readonly cluster: bigint;
  readonly replica: number;
  readonly replicaCount: number;
  readonly view: number;
  /** The last view in which the log was settled; never above `view`. */
  readonly logView: number;
  readonly commitMax: number;
  readonly checkpointOp: number;
  readonly checkpointChecksum: bigint;
  /** Lower bound of the next message offset. */
  readonly nextOffset: number;
  /** Offsets below may have been given out before a loss of power. */
  readonly reservedOffset: number;
  readonly createdView: number;
  readonly incarnation: number;
  readonly retryCapacity: number;
  /** Run of the operating system in which this was written, 0 when unknown. */
  readonly bootId: bigint;
  /** Everything up to this operation was on stable storage. */
  readonly syncedOp: number;
}

interface Slot {
  readonly sequence: number;
  readonly state: SuperblockState;
}

/** The two slots of one directory. Writes are put in order and each gets what `update` makes of the newest state. */
export class Superblock {
  private readonly io: Io;
  private readonly directory: string;
  private sequence: number;
  private durable: SuperblockState;
  private writing: Promise<unknown> = Promise.resolve();

  private constructor(io: Io, directory: string, slot: Slot) {
    this.io = io;
    this.directory = directory;
    this.sequence = slot.sequence;
    this.durable = slot.state;
  }

  /**
   * Undefined when there is none. Throws `DamagedFile` when a slot holds bytes that do not verify: it may have been the
   * newer one, so the other is not used either and neither is ever written over.
   */
  static async read(io: Io, directory: string): Promise<Superblock | undefined> {
    const [a, b] = await Promise.all(SLOTS.map((name) => readSlot(io, `${directory}/${name}`)));
    if (a === undefined && b === undefined) return undefined;
    const newest = b === undefined || (a !== undefined && a.sequence > b.sequence) ? a : b;
    return newest === undefined ? undefined : new Superblock(io, directory, newest);
  }

  /** Writes the first state; its name still needs a sync of the directory. */
  static async create(io: Io, directory: string, state: SuperblockState): Promise<Superblock> {
    await putFile(io, directory, SLOTS[0], [encode(1, state)]);
    return new Superblock(io, directory, { sequence: 1, state });
  }

  /** What stable storage holds. */
  get state(): SuperblockState {
    return this.durable;
  }

  /** Makes durable what a process that ended may have left in the operating system's memory. */
  sync(): Promise<void> {
    return this.io.syncDirectory(this.directory);
  }

  /** Resolves when the new state is on stable storage. After a failure the old one still is. */
  update(change: (state: SuperblockState) => SuperblockState): Promise<void> {
    const write = this.writing.then(async () => {
      const sequence = this.sequence + 1;
      const state = change(this.durable);
      const slot = SLOTS[sequence % 2 === 1 ? 0 : 1];
      await replaceFile(this.io, this.directory, slot, [encode(sequence, state)]);
      this.sequence = sequence;
      this.durable = state;
    });
    this.writing = write.catch(() => undefined);
    return write;
  }
}

async function readSlot(io: Io, path: string): Promise<Slot | undefined> {
  const bytes = await readFile(io, path, HEAD_BYTES + PAYLOAD_BYTES_MAX + 8);
  return bytes === undefined || bytes.length === 0 ? undefined : decode(path, bytes);
}

function encode(sequence: number, state: SuperblockState): Uint8Array {
  const end = HEAD_BYTES + PAYLOAD_BYTES;
  const bytes = new Uint8Array(end + 8);
  const view = viewOf(bytes);
  view.setUint32(0, MAGIC, true);
  view.setUint16(4, VERSION, true);
  setU64(view, 8, sequence);
  view.setUint32(24, PAYLOAD_BYTES, true);
  const payload = viewOf(bytes.subarray(HEAD_BYTES));
  setU128(payload, 0, state.cluster);
  payload.setUint8(16, state.replica);
  payload.setUint8(17, state.replicaCount);
  payload.setUint32(18, state.view, true);
  payload.setUint32(22, state.logView, true);
  setU64(payload, 26, state.commitMax);
  setU64(payload, 34, state.checkpointOp);
  setU128(payload, 42, state.checkpointChecksum);
  setU64(payload, 58, state.nextOffset);
  setU64(payload, 66, state.reservedOffset);
  payload.setUint32(74, state.createdView, true);
  setU64(payload, 78, state.incarnation);
  payload.setUint32(86, state.retryCapacity, true);
  setU128(payload, 90, state.bootId);
  setU64(payload, 106, state.syncedOp);
  view.setBigUint64(end, xxh3_64(bytes, 0, end), true);
  return bytes;
}

function decode(path: string, bytes: Uint8Array): Slot {
  const view = viewOf(bytes);
  if (bytes.length < HEAD_BYTES + 8 || view.getUint32(0, true) !== MAGIC)
    throw new DamagedFile(path, "not a superblock");
  const length = view.getUint32(24, true);
  const end = HEAD_BYTES + length;
  if (length > PAYLOAD_BYTES_MAX || bytes.length !== end + 8) throw new DamagedFile(path, "torn superblock");
  if (view.getBigUint64(end, true) !== xxh3_64(bytes, 0, end)) throw new DamagedFile(path, "wrong checksum");
  const version = view.getUint16(4, true);
  if (version !== VERSION) {
    throw new DamagedFile(
      path,
      `superblock version ${version} was written by a newer server; a downgrade needs a wipe`,
    );
  }
  if (length < PAYLOAD_BYTES) throw new DamagedFile(path, "superblock of another implementation");
  const payload = viewOf(bytes.subarray(HEAD_BYTES, end));
  const state: SuperblockState = {
    cluster: getU128(payload, 0),
    replica: payload.getUint8(16),
    replicaCount: payload.getUint8(17),
    view: payload.getUint32(18, true),
    logView: payload.getUint32(22, true),
    commitMax: getU64(payload, 26),
    checkpointOp: getU64(payload, 34),
    checkpointChecksum: getU128(payload, 42),
    nextOffset: getU64(payload, 58),
    reservedOffset: getU64(payload, 66),
    createdView: payload.getUint32(74, true),
    incarnation: getU64(payload, 78),
    retryCapacity: payload.getUint32(86, true),
    bootId: getU128(payload, 90),
    syncedOp: getU64(payload, 106),
  };
  if (state.logView > state.view) throw new DamagedFile(path, "log_view above view");
  return { sequence: getU64(view, 8), state };
}
