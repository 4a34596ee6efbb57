import type { MetadataPrepare } from "@iggy/engine";
import type { RecordReader, RecordWriter } from "../lanes/record.js";

/** More than the facts of any of these records take, without their bodies. */
export const METADATA_BYTES_MAX = 128;

export type PrepareFacts = Omit<MetadataPrepare, "body" | "retryCapacity">;

/** The body of the operation follows as that of the record. */
export function writePrepare(record: RecordWriter, prepare: PrepareFacts): void {
  record.f64(prepare.op);
  record.f64(prepare.timestampMicros);
  record.u128(prepare.checksum);
  record.u8(prepare.operation);
  record.u128(prepare.client);
  record.f64(prepare.session);
  record.f64(prepare.request);
  record.u128(prepare.requestChecksum);
  record.u32(prepare.userId);
  record.f64(prepare.view);
}

export const readPrepare = (record: RecordReader): PrepareFacts => ({
  op: record.f64(),
  timestampMicros: record.f64(),
  checksum: record.u128(),
  operation: record.u8(),
  client: record.u128(),
  session: record.f64(),
  request: record.f64(),
  requestChecksum: record.u128(),
  userId: record.u32(),
  view: record.f64(),
});

/** An operation of a client on its way to the log, or the end of its session. Its body follows. */
export interface OperationFacts {
  readonly token: number;
  readonly client: bigint;
  readonly session: number;
  readonly userId: number;
  readonly request: number;
  readonly requestChecksum: bigint;
  readonly operation: number;
  readonly partitionIncarnation: number;
}

export function writeOperation(record: RecordWriter, facts: OperationFacts): void {
  record.u32(facts.token);
  record.u128(facts.client);
  record.f64(facts.session);
  record.u32(facts.userId);
  record.f64(facts.request);
  record.u128(facts.requestChecksum);
  record.u8(facts.operation);
  record.f64(facts.partitionIncarnation);
}

export const readOperation = (record: RecordReader): OperationFacts => ({
  token: record.u32(),
  client: record.u128(),
  session: record.f64(),
  userId: record.u32(),
  request: record.f64(),
  requestChecksum: record.u128(),
  operation: record.u8(),
  partitionIncarnation: record.f64(),
});

/** A login to be verified and registered. Its body follows. */
export interface SignInFacts {
  readonly token: number;
  readonly client: bigint;
  readonly requestChecksum: bigint;
}

export function writeSignIn(record: RecordWriter, facts: SignInFacts): void {
  record.u32(facts.token);
  record.u128(facts.client);
  record.u128(facts.requestChecksum);
}

export const readSignIn = (record: RecordReader): SignInFacts => ({
  token: record.u32(),
  client: record.u128(),
  requestChecksum: record.u128(),
});

/** What a metadata answer says, behind its token. */
export const AnswerKind = {
  committed: 1,
  deny: 2,
  evict: 3,
  session: 4,
  code: 5,
} as const;
