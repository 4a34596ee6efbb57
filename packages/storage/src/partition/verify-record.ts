import { validateBatchLayout, verifyBatch, WireError } from "@iggy/protocol";
import { DamagedBatch } from "../errors.js";
import type { Checksums } from "../shard/checksums.js";

/** Checks a stored record: layout always, every checksum when `checksums` are given. Throws `DamagedBatch`. */
export function checkRecord(
  record: Uint8Array,
  checksums: Checksums | undefined,
  path: string,
  position: number,
): void {
  if (checksums?.isIntact?.(record) === true) return;
  const fault = faultOf(record, checksums !== undefined);
  if (fault !== undefined) {
    throw new DamagedBatch(
      path,
      position,
      fault.kind === "InvalidMessageChecksum" ? "message" : "batch",
      fault.message,
    );
  }
}

/** Whether a record is whole in every byte. */
export function isIntact(record: Uint8Array, checksums: Checksums): boolean {
  return checksums.isIntact?.(record) === true || faultOf(record, true) === undefined;
}

function faultOf(record: Uint8Array, withChecksums: boolean): WireError | undefined {
  try {
    const length = withChecksums ? verifyBatch(record) : validateBatchLayout(record);
    return length === record.length ? undefined : new WireError("Validation", "bytes behind the batch");
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
}
