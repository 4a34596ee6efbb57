import type { Codec, LayoutRow } from "./codec.js";

/** Rows of a field: its own row, or those of the layout inside it under its path. */
export function rowsOf(path: string, codec: Codec<unknown>): LayoutRow[] {
  const inner = codec.rows?.();
  if (inner === undefined || inner.length === 0) return [{ path, type: codec.type }];
  return inner.map((row) => ({ path: `${path}.${row.path}`, type: row.type }));
}
