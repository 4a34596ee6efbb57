import { BATCH_HEADER_SIZE, BatchView } from "@iggy/protocol";

const header = new BatchView();

/**
 * The records in the pieces of a read, each in one stretch of memory: views of the pieces, but for a record that was cut,
 * whose header and frames are pieces of their own and are put together. What follows a malformed header is no record
 * either, so a reader stops at it. Throws a WireError at bytes that are too few for a header.
 */
export function* recordsOf(pieces: readonly Uint8Array[]): Generator<Uint8Array> {
  for (let i = 0; i < pieces.length; i++) {
    const piece = pieces[i] ?? none;
    for (let at = 0; at < piece.length;) {
      const length = Math.max(header.at(piece, at).batchLength, BATCH_HEADER_SIZE);
      if (length <= piece.length - at) yield piece.subarray(at, at + length);
      else yield joined(piece.subarray(at), pieces[++i] ?? none);
      at += length;
    }
  }
}

function joined(head: Uint8Array, frames: Uint8Array): Uint8Array {
  const record = new Uint8Array(head.length + frames.length);
  record.set(head);
  record.set(frames, head.length);
  return record;
}

const none = new Uint8Array(0);
