export function totalLength(pieces: readonly Uint8Array[]): number {
  let sum = 0;
  for (const piece of pieces) sum += piece.length;
  return sum;
}

/** The first so many bytes, and the rest. */
export function splitAt(pieces: readonly Uint8Array[], length: number): [first: Uint8Array[], rest: Uint8Array[]] {
  const first: Uint8Array[] = [];
  const rest: Uint8Array[] = [];
  let left = length;
  for (const piece of pieces) {
    if (left > 0) first.push(piece.subarray(0, left));
    if (left < piece.length) rest.push(piece.subarray(left));
    left = Math.max(0, left - piece.length);
  }
  return [first, rest];
}
