import { type MessageInput, type ProducerSection } from "../../src/messages/index.js";
import { fromHex, loadVectors } from "../golden.js";

export interface GoldenHeader {
  readonly partition_id: string;
  readonly base_offset: string;
  readonly base_timestamp: string;
  readonly origin_timestamp: string;
  readonly batch_length: string;
  readonly batch_checksum: string;
  readonly message_count: number;
  readonly producer: GoldenProducer | null;
}
export interface GoldenProducer {
  readonly producer_id: string;
  readonly epoch: number;
  readonly base_sequence: number;
}
export interface GoldenHeaderField {
  readonly kind: string;
  readonly kind_code: number;
  readonly value: unknown;
  readonly hex: string;
}
export interface GoldenMessage {
  readonly checksum: string;
  readonly id: string;
  readonly offset_delta: number;
  readonly timestamp_delta: number;
  readonly user_headers_length: number;
  readonly payload_length: number;
  readonly payload_hex?: string;
  readonly user_headers: readonly { readonly key: GoldenHeaderField; readonly value: GoldenHeaderField }[];
}
export interface GoldenBatch {
  readonly header: GoldenHeader;
  readonly messages: readonly GoldenMessage[];
}
export interface GoldenReadMessage {
  readonly checksum: string;
  readonly id: string;
  readonly offset: string;
  readonly timestamp: string;
  readonly origin_timestamp: string;
  readonly payload_hex: string;
}
export interface SizedBatch {
  readonly name: string;
  readonly payload_rule?: { readonly length: number };
  readonly as_sent?: GoldenBatch;
  readonly as_sent_first_304_bytes_hex?: string;
  readonly as_stored?: GoldenBatch;
  readonly as_stored_first_304_bytes_hex?: string;
  readonly header?: GoldenHeader;
  readonly batch_size: number;
}
export interface SendVector {
  readonly name: string;
  readonly fields: {
    readonly metadata_length: number;
    readonly stream_id:
      { readonly kind: "numeric"; readonly value: number } | { readonly kind: "string"; readonly value: string };
    readonly topic_id:
      { readonly kind: "numeric"; readonly value: number } | { readonly kind: "string"; readonly value: string };
    readonly partitioning: { readonly kind: string; readonly partition_id?: number; readonly key_hex?: string };
    readonly messages_count: number;
    readonly producer: GoldenProducer | null;
    readonly messages: readonly {
      readonly id: string;
      readonly origin_timestamp: string;
      readonly user_headers_hex: string | null;
      readonly payload_hex: string;
    }[];
  };
  readonly hex: string;
}
export interface PollVector {
  readonly name: string;
  readonly fields: {
    readonly partition_id: number;
    readonly current_offset: string;
    readonly messages_count: number;
    readonly context: { readonly incarnation: string; readonly owner_generation: string; readonly metadata_op: string };
    readonly batches: readonly GoldenBatch[];
    readonly messages_as_read: readonly GoldenReadMessage[];
  };
  readonly hex: string;
}
export interface NegativeVector {
  readonly type: string;
  readonly name: string;
  readonly hex?: string;
  readonly error?: { readonly kind: string; readonly offset?: string | number };
  readonly layout_only_error?: { readonly kind: string } | null;
  readonly client_error?: { readonly code: number };
}
export interface MessageVectors {
  readonly constants: Readonly<Record<string, number | string>>;
  readonly batches: readonly (
    SizedBatch | { readonly name: string; readonly fields: GoldenBatch; readonly hex: string }
  )[];
  readonly send_requests: readonly SendVector[];
  readonly producer_sequences: readonly {
    readonly base_sequence: number;
    readonly count: number;
    readonly last_sequence: number;
    readonly next_base_sequence: number;
  }[];
  readonly poll_responses: readonly PollVector[];
  readonly fetch_responses: readonly { readonly name: string; readonly fields: unknown; readonly hex: string }[];
  readonly negative: readonly NegativeVector[];
}

export const vectors: MessageVectors = loadVectors("messages");

export const goldenBatches = vectors.batches.filter(
  (batch): batch is { readonly name: string; readonly fields: GoldenBatch; readonly hex: string } => "hex" in batch,
);
export const sizedBatches = vectors.batches.filter((batch): batch is SizedBatch => !("hex" in batch));

export const producerOf = (golden: GoldenProducer | null): ProducerSection | null =>
  golden === null ? null : { id: BigInt(golden.producer_id), epoch: golden.epoch, baseSequence: golden.base_sequence };

export const inputsOf = (vector: SendVector): MessageInput[] =>
  vector.fields.messages.map((message) => ({
    id: BigInt(message.id),
    originTimestamp: BigInt(message.origin_timestamp),
    payload: fromHex(message.payload_hex),
    ...(message.user_headers_hex === null ? {} : { userHeaders: fromHex(message.user_headers_hex) }),
  }));

/** The batch of a send request: what follows its length-prefixed metadata. */
export const batchOf = (vector: SendVector): Uint8Array =>
  fromHex(vector.hex).subarray(4 + vector.fields.metadata_length);
