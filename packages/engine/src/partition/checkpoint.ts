import {
  decodeExact,
  encode,
  list,
  mapped,
  oneOf,
  struct,
  u128,
  u16,
  u32,
  u64,
  u8,
  type ValueOf,
  WireError,
} from "@iggy/protocol";
import type { InstalledOwner } from "./group-owners.js";
import { CorruptHistoryError } from "./prepare.js";
import type { Producer } from "./producers.js";
import { RequestWindow } from "./request-window.js";
import type { Receipt, WriterIdentity } from "./writers.js";

/** Version of the layout. A checkpoint of another one is not read: releases migrate nothing. */
const FORMAT = 2;

/** A u64 that is exact as a number: offsets, operations and µs are, for centuries. */
const exact = mapped<bigint, number>(
  u64,
  (value, at) => {
    const number = Number(value);
    if (!Number.isSafeInteger(number)) throw new WireError("Validation", `${String(value)} is no exact number`, at);
    return number;
  },
  BigInt,
);
/** The same, moved by one so that -1 stands for none. */
const exactOrNone = mapped<number, number>(
  exact,
  (value) => value - 1,
  (value) => value + 1,
);

const writtenBatch = struct("written batch", { sequence: u32, messagesCount: u32, baseOffset: exact, op: exact });
const producer = struct("producer", {
  id: u64,
  epoch: u16,
  lastTimestampMicros: exact,
  batches: list(u8, writtenBatch, { max: 5 }),
});
const receipt = struct("receipt", {
  request: exact,
  requestChecksum: u128,
  operation: u8,
  op: exact,
  view: u32,
  timestampMicros: exact,
  code: u32,
  baseOffset: exactOrNone,
});
const writer = struct("writer", {
  client: u128,
  session: exact,
  highest: exact,
  window0: u32,
  window1: u32,
  window2: u32,
  window3: u32,
  receipts: list(u8, receipt, { max: 5 }),
});
const session = struct("session", { client: u128, session: exact });
const storedOffset = struct("stored offset", { id: exact, offset: exact });
const owner = struct("group owner", { groupId: exact, client: u128, session: exact, generation: exact });

/**
 * State of a partition after the operation `op`:
 *
 *   format u16 · op, checksum, timestamp · incarnation · next_offset · retry_capacity · ended_at · paid_through ·
 *   largest_batch
 *   producers, writers, ended sessions · offsets of consumers, groups, external groups · owners · retired groups
 */
const layout = struct("partition state", {
  format: oneOf("checkpoint format", u16, [FORMAT]),
  op: exact,
  checksum: u128,
  timestampMicros: exact,
  incarnation: exact,
  nextOffset: exact,
  retryCapacity: u32,
  endedAt: exact,
  paidThrough: exact,
  largestBatchBytes: u32,
  producers: list(u32, producer),
  writers: list(u32, writer),
  retiredSessions: list(u32, session),
  consumerOffsets: list(u32, storedOffset),
  groupOffsets: list(u32, storedOffset),
  externalGroupOffsets: list(u32, storedOffset),
  owners: list(u32, owner),
  nextGroupId: exact,
  liveGroups: list(u32, exact),
});
type Layout = ValueOf<typeof layout>;

type StoredOffsets = readonly (readonly [id: number, offset: number])[];

/** What a partition remembers beside its messages. Lists are in canonical order: equal states give equal bytes. */
export interface PartitionState {
  readonly op: number;
  readonly checksum: bigint;
  readonly timestampMicros: number;
  readonly incarnation: number;
  readonly nextOffset: number;
  readonly retryCapacity: number;
  readonly endedAt: number;
  readonly paidThrough: number;
  readonly largestBatchBytes: number;
  /** In order of the last commit. */
  readonly producers: readonly (readonly [id: bigint, producer: Producer])[];
  readonly writers: readonly WriterState[];
  /** In order of retirement. */
  readonly retiredSessions: readonly (readonly [client: bigint, session: number])[];
  readonly offsets: Readonly<Record<"consumer" | "consumer_group" | "external_group", StoredOffsets>>;
  readonly owners: readonly (readonly [groupId: number, owner: InstalledOwner])[];
  readonly retiredGroups: { readonly nextGroupId: number; readonly live: readonly number[] };
}

export interface WriterState extends WriterIdentity {
  readonly window: RequestWindow;
  readonly receipts: readonly Receipt[];
}

export function encodePartitionState(state: PartitionState): Uint8Array {
  const value: Layout = {
    ...state,
    format: FORMAT,
    producers: state.producers.map(([id, entry]) => ({ id, ...entry })),
    writers: [...state.writers].sort(byIdentity).map(({ client, session: epoch, window, receipts }) => {
      const [window0, window1, window2, window3] = window.words;
      return { client, session: epoch, highest: window.highest, window0, window1, window2, window3, receipts };
    }),
    retiredSessions: state.retiredSessions.map(([client, epoch]) => ({ client, session: epoch })),
    consumerOffsets: state.offsets.consumer.map(([id, offset]) => ({ id, offset })),
    groupOffsets: state.offsets.consumer_group.map(([id, offset]) => ({ id, offset })),
    externalGroupOffsets: state.offsets.external_group.map(([id, offset]) => ({ id, offset })),
    owners: state.owners.map(([groupId, entry]) => ({ groupId, ...entry })),
    nextGroupId: state.retiredGroups.nextGroupId,
    liveGroups: state.retiredGroups.live,
  };
  return encode(layout, value);
}

/** Throws `CorruptHistoryError` for bytes that are no checkpoint of this release. */
export function decodePartitionState(bytes: Uint8Array): PartitionState {
  const value = decodeLayout(bytes);
  return {
    ...value,
    producers: value.producers.map(({ id, ...entry }) => [id, entry]),
    writers: value.writers.map(({ client, session: epoch, highest, window0, window1, window2, window3, receipts }) => ({
      client,
      session: epoch,
      window: new RequestWindow(highest, [window0, window1, window2, window3]),
      receipts,
    })),
    retiredSessions: value.retiredSessions.map(({ client, session: epoch }) => [client, epoch]),
    offsets: {
      consumer: value.consumerOffsets.map(({ id, offset }) => [id, offset]),
      consumer_group: value.groupOffsets.map(({ id, offset }) => [id, offset]),
      external_group: value.externalGroupOffsets.map(({ id, offset }) => [id, offset]),
    },
    owners: value.owners.map(({ groupId, ...entry }) => [groupId, entry]),
    retiredGroups: { nextGroupId: value.nextGroupId, live: value.liveGroups },
  };
}

function decodeLayout(bytes: Uint8Array): Layout {
  try {
    return decodeExact(layout, bytes);
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    throw new CorruptHistoryError(`the checkpoint can not be read: ${cause.message}`, { cause });
  }
}

/** By client, then by session. */
function byIdentity(a: WriterIdentity, b: WriterIdentity): number {
  if (a.client !== b.client) return a.client < b.client ? -1 : 1;
  return a.session - b.session;
}
