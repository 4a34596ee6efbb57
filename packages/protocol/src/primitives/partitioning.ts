import { type Codec, type Reader, WireError } from "../codec/index.js";
import { PartitioningKind } from "../enums/index.js";

/** Which partition a batch goes to. */
export type Partitioning =
  | { readonly kind: "balanced" }
  | { readonly kind: "partition_id"; readonly partitionId: number }
  | { readonly kind: "messages_key"; readonly key: Uint8Array };

const maxKeyBytes = 255;

const checkLength = (what: string, length: number, least: number, most: number, at?: number): void => {
  if (length < least || length > most) {
    throw new WireError(
      "Validation",
      `${what} takes ${String(least)} to ${String(most)} bytes, got ${String(length)}`,
      at,
    );
  }
};

/** `[kind u8][length u8][value]`: balanced has no value, a partition id is a u32, a key 1 to 255 bytes. */
export const partitioning: Codec<Partitioning> = {
  type: "partitioning",
  minSize: 2,
  size: (value) => (value.kind === "balanced" ? 2 : value.kind === "partition_id" ? 6 : 2 + value.key.length),
  write: (w, value) => {
    w.u8(PartitioningKind[value.kind]);
    switch (value.kind) {
      case "balanced":
        w.u8(0);
        return;
      case "partition_id":
        w.u8(4);
        w.u32(value.partitionId);
        return;
      case "messages_key":
        checkLength("a messages key", value.key.length, 1, maxKeyBytes);
        w.u8(value.key.length);
        w.take(value.key);
    }
  },
  read: readPartitioning,
  sample: (s) => {
    switch (s.integer(2)) {
      case 0:
        return { kind: "balanced" };
      case 1:
        return { kind: "partition_id", partitionId: s.integer(0xffff_ffff) };
      default:
        return { kind: "messages_key", key: s.bytes(1 + s.integer(maxKeyBytes - 1)) };
    }
  },
};

function readPartitioning(r: Reader): Partitioning {
  const at = r.offset;
  const kind = r.u8();
  switch (kind) {
    case PartitioningKind.balanced:
      checkLength("balanced partitioning", r.u8(), 0, 0, at);
      return { kind: "balanced" };
    case PartitioningKind.partition_id:
      checkLength("a partition id", r.u8(), 4, 4, at);
      return { kind: "partition_id", partitionId: r.u32() };
    case PartitioningKind.messages_key: {
      const length = r.u8();
      checkLength("a messages key", length, 1, maxKeyBytes, at);
      return { kind: "messages_key", key: r.take(length) };
    }
    default:
      throw new WireError("UnknownDiscriminant", `${String(kind)} is no partitioning kind`, at);
  }
}
