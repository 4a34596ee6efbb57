import { validateBatchLayout, verifyBatch, WireError } from "@iggy/protocol";
import { DamagedBatch } from "../errors.js";

/** Checks a stored record: layout always, every checksum when asked. Throws `DamagedBatch`. */
export function checkRecord(record: Uint8Array, withChecksums: boolean, path: string, position: number): void {
  const fault = faultOf(record, withChecksums);
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
export function isIntact(record: Uint8Array): boolean {
  return faultOf(record, true) === undefined;
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
