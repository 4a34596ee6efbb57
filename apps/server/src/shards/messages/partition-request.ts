import type { AckLevel, ConsumerKindName, PollingStrategy } from "@iggy/protocol";
import type {
  DeleteOffsetCommand,
  FetchCommand,
  FetchTarget,
  GetOffsetCommand,
  OffsetKey,
  PartitionAddress,
  PollCommand,
  ReadWait,
  SendCommand,
  StoreOffsetCommand,
} from "../../partitions/index.js";
import type { ClientRequest } from "../../request.js";
import { ownBytes, RecordReader, RecordWriter } from "../lanes/record.js";
import { codeOf, nameOf } from "./name-codes.js";

/** Who asks, as the owner of a partition has to know it. */
export interface RequestFacts extends Pick<
  ClientRequest,
  | "client"
  | "session"
  | "userId"
  | "request"
  | "requestChecksum"
  | "operation"
  | "partitionIncarnation"
  | "ownerGeneration"
> {
  /** Number of the request between the two shards, by which it is answered. */
  readonly token: number;
  /** Metadata op that the sending shard has applied: names and rights were looked up in it. */
  readonly minimumMetadataOp: number;
}

/** More than the facts and any command without its bytes take. */
export const REQUEST_BYTES_MAX = 256;

/** Bytes of one target of a fetch: partition u32, strategy 9, max bytes f64, incarnation f64, generation f64. */
const TARGET_BYTES = 37;

const consumerKinds: readonly ConsumerKindName[] = ["consumer", "consumer_group", "external_group"];
const ackLevels: readonly AckLevel[] = ["no_ack", "quorum"];
const strategyKinds: readonly PollingStrategy["kind"][] = ["offset", "timestamp", "first", "last", "next"];

export function writeFacts(record: RecordWriter, facts: RequestFacts): void {
  record.u32(facts.token);
  record.u128(facts.client);
  record.f64(facts.session);
  record.u32(facts.userId);
  record.f64(facts.request);
  record.u128(facts.requestChecksum);
  record.u8(facts.operation);
  record.f64(facts.partitionIncarnation);
  record.f64(facts.ownerGeneration);
  record.f64(facts.minimumMetadataOp);
}

export const readFacts = (record: RecordReader): RequestFacts => ({
  token: record.u32(),
  client: record.u128(),
  session: record.f64(),
  userId: record.u32(),
  request: record.f64(),
  requestChecksum: record.u128(),
  operation: record.u8(),
  partitionIncarnation: record.f64(),
  ownerGeneration: record.f64(),
  minimumMetadataOp: record.f64(),
});

export function writeAddress(record: RecordWriter, { streamId, topicId, partitionId }: PartitionAddress): void {
  record.u32(streamId);
  record.u32(topicId);
  record.u32(partitionId);
}

export const readAddress = (record: RecordReader): PartitionAddress => ({
  streamId: record.u32(),
  topicId: record.u32(),
  partitionId: record.u32(),
});

function writeKey(record: RecordWriter, { kind, id }: OffsetKey): void {
  record.u8(codeOf(consumerKinds, kind));
  record.f64(id);
}

const readKey = (record: RecordReader): OffsetKey => ({
  kind: nameOf(consumerKinds, record.u8()),
  id: record.f64(),
});

function writeStrategy(record: RecordWriter, { kind, value }: PollingStrategy): void {
  record.u8(codeOf(strategyKinds, kind));
  record.u64(value);
}

const readStrategy = (record: RecordReader): PollingStrategy => ({
  kind: nameOf(strategyKinds, record.u8()),
  value: record.u64(),
});

function writeWait(record: RecordWriter, wait: ReadWait): void {
  record.f64(wait.waitMicros);
  record.f64(wait.minCount);
  record.f64(wait.maxBytes);
  record.f64(wait.requestTimeoutMicros);
}

const readWait = (record: RecordReader): ReadWait => ({
  waitMicros: record.f64(),
  minCount: record.f64(),
  maxBytes: record.f64(),
  requestTimeoutMicros: record.f64(),
});

/** The batch follows as the body of the record. */
export function writeSend(record: RecordWriter, command: SendCommand): void {
  writeAddress(record, command.address);
  record.flag(command.partitionNamed);
  record.u32(command.messagesCount);
}

export const readSend = (record: RecordReader): Omit<SendCommand, "batch"> => ({
  address: readAddress(record),
  partitionNamed: record.flag(),
  messagesCount: record.u32(),
});

export function writePoll(record: RecordWriter, command: PollCommand): void {
  writeAddress(record, command.address);
  writeKey(record, command.consumer);
  writeStrategy(record, command.strategy);
  record.u32(command.count);
  record.flag(command.autoCommit);
  record.flag(command.wait !== undefined);
  if (command.wait !== undefined) writeWait(record, command.wait);
}

export const readPoll = (record: RecordReader): PollCommand => ({
  address: readAddress(record),
  consumer: readKey(record),
  strategy: readStrategy(record),
  count: record.u32(),
  autoCommit: record.flag(),
  ...(record.flag() ? { wait: readWait(record) } : {}),
});

/** The targets follow as the body of the record. */
export function writeFetch(record: RecordWriter, command: FetchCommand): void {
  record.u32(command.streamId);
  record.u32(command.topicId);
  writeKey(record, command.consumer);
  record.u32(command.count);
  record.flag(command.autoCommit);
  record.flag(command.isProbe ?? false);
  record.f64(command.spentBytes ?? 0);
  writeWait(record, command.wait);
}

export const readFetch = (record: RecordReader): Omit<FetchCommand, "targets"> => ({
  streamId: record.u32(),
  topicId: record.u32(),
  consumer: readKey(record),
  count: record.u32(),
  autoCommit: record.flag(),
  isProbe: record.flag(),
  spentBytes: record.f64(),
  wait: readWait(record),
});

export function encodeTargets(targets: readonly FetchTarget[]): Uint8Array {
  const bytes = ownBytes(targets.length * TARGET_BYTES);
  const record = new RecordWriter(bytes);
  for (const { partitionId, strategy, maxBytes, incarnation, ownerGeneration } of targets) {
    record.u32(partitionId);
    writeStrategy(record, strategy);
    record.f64(maxBytes);
    record.f64(incarnation);
    record.f64(ownerGeneration);
  }
  return bytes;
}

export function decodeTargets(bytes: Uint8Array): readonly FetchTarget[] {
  const record = new RecordReader(bytes);
  return Array.from({ length: bytes.length / TARGET_BYTES }, () => ({
    partitionId: record.u32(),
    strategy: readStrategy(record),
    maxBytes: record.f64(),
    incarnation: record.f64(),
    ownerGeneration: record.f64(),
  }));
}

export function writeOffsetTarget(record: RecordWriter, { address, consumer }: GetOffsetCommand): void {
  writeAddress(record, address);
  writeKey(record, consumer);
}

export const readOffsetTarget = (record: RecordReader): GetOffsetCommand => ({
  address: readAddress(record),
  consumer: readKey(record),
});

export function writeDeleteOffset(record: RecordWriter, command: DeleteOffsetCommand): void {
  writeOffsetTarget(record, command);
  record.u8(codeOf(ackLevels, command.ack));
}

export const readDeleteOffset = (record: RecordReader): DeleteOffsetCommand => ({
  ...readOffsetTarget(record),
  ack: nameOf(ackLevels, record.u8()),
});

export function writeStoreOffset(record: RecordWriter, command: StoreOffsetCommand): void {
  writeDeleteOffset(record, command);
  record.u64(command.offset);
}

export const readStoreOffset = (record: RecordReader): StoreOffsetCommand => ({
  ...readDeleteOffset(record),
  offset: record.u64(),
});
