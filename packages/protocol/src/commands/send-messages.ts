import { exactly, list, struct, u32, u64, type ValueOf, WireError } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, decodeResponse, type RequestOf, type ResponseOf } from "./command.js";
import { sendMessagesRequest } from "./records/send.js";

const sendConfirmation = struct("send confirmation", {
  streamId: u32,
  topicId: u32,
  partitionId: u32,
  baseOffset: u64,
});
export type SendConfirmation = ValueOf<typeof sendConfirmation>;

/**
 * Appends one batch to one partition.
 *
 *   request  send
 *   reply    [u32 count]([stream_id u32][topic_id u32][partition_id u32][base_offset u64]) × count
 *
 * A server sends one confirmation, or none when it knows no offset.
 */
export const sendMessages = command({
  code: 101,
  name: "message.send",
  title: "SendMessages",
  operation: Operation.SendMessages,
  request: sendMessagesRequest,
  response: exactly(struct("SendMessages reply", { confirmations: list(u32, sendConfirmation) })),
});
export type SendMessagesRequest = RequestOf<typeof sendMessages>;
export type SendMessagesResponse = NonNullable<ResponseOf<typeof sendMessages>>;

/**
 * The confirmations of a committed send. An empty payload says "committed, offsets unknown", and so does one that does
 * not decode: the batch is stored, and an error would make the caller send it again.
 */
export function sendConfirmations(payload: Uint8Array): readonly SendConfirmation[] {
  try {
    return payload.length === 0 ? [] : decodeResponse(sendMessages, payload).confirmations;
  } catch (error) {
    if (error instanceof WireError) return [];
    throw error;
  }
}
