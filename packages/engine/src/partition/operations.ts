import {
  type AckLevel,
  type Codec,
  decodeExact,
  encode,
  installConsumerGroupOwner,
  numericId,
  Operation,
  preparedDeleteConsumerOffset,
  preparedStoreConsumerOffset,
  retireConsumerGroupOwners,
  retireSessions,
  transitionPartitionHistory,
  WireError,
} from "@iggy/protocol";
import type { InstalledOwner } from "./group-owners.js";
import type { OffsetKey } from "./offsets.js";
import { CorruptHistoryError } from "./prepare.js";

// Bodies of a partition's own operations, between the codec's values and the state machine's.

interface PartitionIds {
  readonly streamId: number;
  readonly topicId: number;
  readonly partitionId: number;
}

export interface OffsetWrite {
  readonly key: OffsetKey;
  /** Undefined deletes. */
  readonly offset: number | undefined;
  /** Of the installed owner that a group write was bound to, else 0. */
  readonly ownerGeneration: number;
}

/** The replicated form of an offset write: consumers and groups by number, the owner it was bound to behind them. */
export function encodeOffsetWrite(ids: PartitionIds, write: OffsetWrite, ack: AckLevel): Uint8Array {
  const target = {
    consumer: { kind: write.key.kind, id: numericId(write.key.id) },
    streamId: numericId(ids.streamId),
    topicId: numericId(ids.topicId),
    partitionId: ids.partitionId,
    ack,
  };
  const ownerGeneration = BigInt(write.ownerGeneration);
  return write.offset === undefined
    ? encode(preparedDeleteConsumerOffset, { request: target, ownerGeneration })
    : encode(preparedStoreConsumerOffset, { request: { ...target, offset: BigInt(write.offset) }, ownerGeneration });
}

export function decodeOffsetWrite(operation: number, body: Uint8Array): OffsetWrite {
  if (operation === Operation.StoreConsumerOffset) {
    const { request, ownerGeneration } = decodeLogged(preparedStoreConsumerOffset, body);
    const { kind, id } = request.consumer;
    return {
      key: { kind, id: numberOf(id.value) },
      offset: numberOf(request.offset),
      ownerGeneration: numberOf(ownerGeneration),
    };
  }
  const { request, ownerGeneration } = decodeLogged(preparedDeleteConsumerOffset, body);
  const { kind, id } = request.consumer;
  return { key: { kind, id: numberOf(id.value) }, offset: undefined, ownerGeneration: numberOf(ownerGeneration) };
}

export interface OwnerInstallation {
  readonly incarnation: number;
  readonly groupId: number;
  readonly owner: InstalledOwner;
  readonly metadataOp: number;
}

export function encodeOwner({ incarnation, groupId, owner, metadataOp }: OwnerInstallation): Uint8Array {
  return encode(installConsumerGroupOwner, {
    incarnation: BigInt(incarnation),
    groupId: BigInt(groupId),
    owner: { clientId: owner.client, session: BigInt(owner.session), generation: BigInt(owner.generation) },
    metadataOp: BigInt(metadataOp),
  });
}

export function decodeOwner(body: Uint8Array): OwnerInstallation {
  const { incarnation, groupId, owner, metadataOp } = decodeLogged(installConsumerGroupOwner, body);
  return {
    incarnation: numberOf(incarnation),
    groupId: numberOf(groupId),
    owner: { client: owner.clientId, session: numberOf(owner.session), generation: numberOf(owner.generation) },
    metadataOp: numberOf(metadataOp),
  };
}

export function encodeHistoryEnd(incarnation: number, metadataOp: number): Uint8Array {
  return encode(transitionPartitionHistory, { incarnation: BigInt(incarnation), metadataOp: BigInt(metadataOp) });
}

/** Group numbers of a topic: every one below `nextGroupId` that is not live is deleted for good. */
export interface GroupRetirement {
  readonly incarnation: number;
  readonly metadataOp: number;
  readonly nextGroupId: number;
  /** Ascending. */
  readonly live: readonly number[];
}

export function encodeGroupRetirement({ incarnation, metadataOp, nextGroupId, live }: GroupRetirement): Uint8Array {
  return encode(retireConsumerGroupOwners, {
    incarnation: BigInt(incarnation),
    metadataOp: BigInt(metadataOp),
    nextGroupId: BigInt(nextGroupId),
    liveGroupIds: live.map(BigInt),
  });
}

export function decodeGroupRetirement(body: Uint8Array): GroupRetirement {
  const { incarnation, metadataOp, nextGroupId, liveGroupIds } = decodeLogged(retireConsumerGroupOwners, body);
  return {
    incarnation: numberOf(incarnation),
    metadataOp: numberOf(metadataOp),
    nextGroupId: numberOf(nextGroupId),
    live: liveGroupIds.map(numberOf),
  };
}

/** Ended sessions, at most 128; `paidThrough` is the metadata op up to which a new primary has retired what was owed. */
export interface SessionRetirement {
  readonly paidThrough: number;
  readonly sessions: readonly {
    readonly client: bigint;
    readonly session: number;
    readonly metadataWatermark: number;
  }[];
}

export function encodeSessionRetirement({ sessions, paidThrough }: SessionRetirement): Uint8Array {
  return encode(retireSessions, {
    paidThrough: BigInt(paidThrough),
    identities: sessions.map(({ client, session, metadataWatermark }) => ({
      clientId: client,
      session: BigInt(session),
      metadataWatermark: BigInt(metadataWatermark),
    })),
  });
}

export function decodeSessionRetirement(body: Uint8Array): SessionRetirement {
  const { identities, paidThrough } = decodeLogged(retireSessions, body);
  return {
    paidThrough: numberOf(paidThrough),
    sessions: identities.map(({ clientId, session, metadataWatermark }) => ({
      client: clientId,
      session: numberOf(session),
      metadataWatermark: numberOf(metadataWatermark),
    })),
  };
}

function decodeLogged<T>(codec: Codec<T>, body: Uint8Array): T {
  try {
    return decodeExact(codec, body);
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    throw new CorruptHistoryError(`a logged operation can not be read: ${cause.message}`, { cause });
  }
}

/** Only exact numbers were ever written to a log; anything else is damage. */
function numberOf(value: bigint | number | string): number {
  const number = typeof value === "string" ? NaN : Number(value);
  if (!Number.isSafeInteger(number)) throw new CorruptHistoryError(`a logged operation holds the number ${value}`);
  return number;
}
