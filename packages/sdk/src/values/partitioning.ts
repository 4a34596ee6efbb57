import { ErrorCode, encodeUtf8 } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { integer, u128, u32, u64, wrongType } from "./check.js";

/** Which partition messages go to. */
export type Partitioning =
  | { readonly kind: "balanced" }
  | { readonly kind: "partition_id"; readonly partitionId: number }
  | { readonly kind: "messages_key"; readonly key: Uint8Array };

function messageKey(key: string | Uint8Array | number | bigint): Partitioning {
  return { kind: "messages_key", key: checkedKey(keyBytes(key)) };
}

export const Partitioning = {
  /** One partition after the other. */
  Balanced: { kind: "balanced" },
  PartitionId: (partitionId: number): Partitioning => ({
    kind: "partition_id",
    partitionId: u32("partitionId", partitionId),
  }),
  /** Messages of one key share a partition. A number is a u32, a bigint a u64, both little-endian; text is UTF-8. */
  MessageKey: messageKey,
  /** A 128-bit number as key, little-endian. */
  MessageKey128: (key: bigint): Partitioning => ({ kind: "messages_key", key: littleEndian(u128("key", key), 16) }),
} as const;

function keyBytes(key: unknown): Uint8Array {
  switch (typeof key) {
    case "string":
      return encodeUtf8(key);
    case "number":
      return littleEndian(BigInt(integer("key", key, 0, 0xffff_ffff)), 4);
    case "bigint":
      return littleEndian(u64("key", key), 8);
    default:
      if (key instanceof Uint8Array) return key;
      throw wrongType("key", "a string, Uint8Array, number or bigint", key);
  }
}

function littleEndian(value: bigint, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn));
}

function checkedKey(key: Uint8Array): Uint8Array {
  if (key.length < 1 || key.length > 255) {
    throw new ValidationError(
      ErrorCode.InvalidKeyValueLength,
      `a message key takes 1 to 255 bytes, got ${String(key.length)}`,
    );
  }
  return key;
}

/** Checks a strategy that did not come from the factory. */
export function toPartitioning(partitioning: Partitioning): Partitioning {
  switch (partitioning.kind) {
    case "balanced":
      return partitioning;
    case "partition_id":
      u32("partition.partitionId", partitioning.partitionId);
      return partitioning;
    case "messages_key":
      if (!(partitioning.key instanceof Uint8Array)) {
        throw wrongType("partition.key", "a Uint8Array", partitioning.key);
      }
      checkedKey(partitioning.key);
      return partitioning;
    default:
      throw new ValidationError(
        ErrorCode.InvalidCommand,
        "partition.kind takes balanced, partition_id or messages_key",
      );
  }
}
