import type { CommittedReply } from "../../request.js";
import type { RecordReader, RecordWriter } from "../lanes/record.js";

export type CommittedFacts = Omit<CommittedReply, "body">;

/** More than a reply takes without its body. */
export const REPLY_BYTES_MAX = 96;

export function writeCommitted(record: RecordWriter, reply: CommittedFacts): void {
  record.f64(reply.op);
  record.f64(reply.view);
  record.f64(reply.timestampMicros);
  record.u8(reply.operation);
  record.f64(reply.request);
  record.u128(reply.requestChecksum);
  record.f64(reply.partitionIncarnation);
}

export const readCommitted = (record: RecordReader): CommittedFacts => ({
  op: record.f64(),
  view: record.f64(),
  timestampMicros: record.f64(),
  operation: record.u8(),
  request: record.f64(),
  requestChecksum: record.u128(),
  partitionIncarnation: record.f64(),
});
