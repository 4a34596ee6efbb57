import {
  BATCH_HEADER_SIZE,
  encodeBatch,
  encodeHeaderFields,
  HeaderKind,
  type HeaderField,
  type JsonValue,
  MAX_TIMESTAMP_DELTA_MICROS,
  MESSAGE_HEADER_SIZE,
  type MessageInput,
  stampBatch,
} from "@iggy/protocol";
import type { ReadReply } from "../values/polled-messages.js";
import { Members } from "./members.js";
import { contextOf } from "./routes/index.js";

interface PolledMessage {
  readonly input: MessageInput & { readonly originTimestamp: bigint };
  readonly offset: bigint;
  readonly timestamp: bigint;
  readonly checksum: bigint;
}

/**
 * The reply of the binary poll in a polled JSON: its messages become records again, so that one reader serves both. The
 * checksums are those of the answer; here nothing could compare them, since the answer lacks the batches they cover.
 */
export function polledReply(json: JsonValue): ReadReply {
  const polled = new Members(json);
  const partitionId = polled.u32("partition_id");
  const messages = polled.list("messages", messageOf);
  return {
    partitionId,
    currentOffset: polled.u64("current_offset"),
    messagesCount: polled.u32("count"),
    context: contextOf(polled.object("context")),
    records: joined(runsOf(messages).map((run) => recordOf(run, partitionId))),
  };
}

function messageOf(message: Members): PolledMessage {
  const header = message.object("header");
  const userHeaders = headersOf(message);
  return {
    input: {
      id: header.u128("id"),
      payload: message.base64("payload"),
      originTimestamp: header.u64("origin_timestamp"),
      ...(userHeaders === undefined ? {} : { userHeaders }),
    },
    offset: header.u64("offset"),
    timestamp: header.u64("timestamp"),
    checksum: header.u64("checksum"),
  };
}

/** Headers as entries, or as their bytes when those are no headers. */
function headersOf(message: Members): Uint8Array | undefined {
  if (message.isAbsent("user_headers")) return undefined;
  if (typeof message.at("user_headers") === "string") return message.base64("user_headers");
  const pairs = message.list("user_headers", (entry) => ({
    key: fieldOf(entry.object("key")),
    value: fieldOf(entry.object("value")),
  }));
  return pairs.length === 0 ? undefined : encodeHeaderFields(pairs);
}

const fieldOf = (field: Members): HeaderField => ({
  kind: field.word("kind", HeaderKind),
  bytes: field.base64("value"),
});

/** Messages that fit one batch: offsets without gaps, one append time, origin times near each other. */
function runsOf(messages: readonly PolledMessage[]): readonly (readonly PolledMessage[])[] {
  const runs: PolledMessage[][] = [];
  let run: PolledMessage[] = [];
  let least = 0n;
  let most = 0n;
  for (const message of messages) {
    const origin = message.input.originTimestamp;
    const last = run.at(-1);
    const low = origin < least ? origin : least;
    const high = origin > most ? origin : most;
    const continues =
      last !== undefined &&
      message.offset === last.offset + 1n &&
      message.timestamp === last.timestamp &&
      high - low <= BigInt(MAX_TIMESTAMP_DELTA_MICROS);
    if (continues) {
      run.push(message);
      least = low;
      most = high;
    } else {
      run = [message];
      runs.push(run);
      least = origin;
      most = origin;
    }
  }
  return runs;
}

function recordOf(run: readonly PolledMessage[], partitionId: number): Uint8Array {
  const [first] = run;
  const bytes = encodeBatch(run.map(({ input }) => input));
  stampBatch(bytes, 0, { partitionId, baseOffset: first?.offset ?? 0n, baseTimestamp: first?.timestamp ?? 0n });
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = BATCH_HEADER_SIZE;
  for (const { input, checksum } of run) {
    view.setBigUint64(at, checksum, true);
    at += MESSAGE_HEADER_SIZE + input.payload.length + (input.userHeaders?.length ?? 0);
  }
  return bytes;
}

function joined(records: readonly Uint8Array[]): Uint8Array {
  const [first] = records;
  if (records.length === 1 && first !== undefined) return first;
  const bytes = new Uint8Array(records.reduce((size, record) => size + record.length, 0));
  let at = 0;
  for (const record of records) {
    bytes.set(record, at);
    at += record.length;
  }
  return bytes;
}
