import { MessageCursor, type PollReply } from "@iggy/protocol";
import { headersJson, type IntegerForm, partitionContextJson, stringifyJson } from "../json/index.js";

/** Characters of a piece, give or take one message. */
const PIECE_CHARS = 64 * 1024;
/** Bytes of a payload that are encoded at once; a multiple of three, so that base64 goes on without padding. */
const SLICE_BYTES = 48 * 1024;

/**
 * The JSON of polled messages, in pieces: a large reply is never one text. The cursor runs over the records as they are
 * asked for.
 */
export function* polledMessagesText(reply: PollReply, integers: IntegerForm): Generator<string, void, void> {
  const big = (value: bigint): string => stringifyJson(value, integers);
  const cursor = new MessageCursor().records(reply.records);
  let text =
    `{"context":${stringifyJson(partitionContextJson(reply.context), integers)},"partition_id":${reply.partitionId},` +
    `"current_offset":${big(reply.currentOffset)},"count":${reply.messagesCount},"messages":[`;
  let separator = "";
  while (cursor.next()) {
    const { payload, userHeaders } = cursor;
    text +=
      `${separator}{"header":{"checksum":${big(cursor.checksum)},"id":${big(cursor.id)},` +
      `"offset":${big(cursor.offsetBig)},"timestamp":${big(cursor.timestampBig)},` +
      `"origin_timestamp":${big(cursor.originTimestampBig)},"user_headers_length":${userHeaders.length},` +
      `"payload_length":${payload.length},"reserved":${big(0n)}},"payload":"`;
    separator = ",";
    const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.length);
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
      text += bytes.toString("base64", at, Math.min(at + SLICE_BYTES, bytes.length));
      if (text.length < PIECE_CHARS) continue;
      yield text;
      text = "";
    }
    text += `","user_headers":${userHeaders.length === 0 ? "[]" : stringifyJson(headersJson(userHeaders))}}`;
    if (text.length < PIECE_CHARS) continue;
    yield text;
    text = "";
  }
  yield `${text}]}`;
}
