/** A value with the place it came from, such as `config.toml` or `IGGY_TCP_ADDRESS`. */
export interface Entry {
  readonly value: unknown;
  readonly source: string;
}

/**
 * What one source sets, by full path; elements of arrays of tables are written `cluster.nodes[0].name`. A layer that
 * names an array replaces it as a whole, so its length is kept beside the values.
 */
export class Layer {
  readonly entries = new Map<string, Entry>();
  readonly arrayLengths = new Map<string, number>();

  set(path: string, entry: Entry): void {
    this.entries.set(path, entry);
  }

  /** Makes room for the element `index` of an array. */
  extendArray(path: string, index: number): void {
    this.arrayLengths.set(path, Math.max(index + 1, this.arrayLengths.get(path) ?? 0));
  }

  /** Lays `upper` over this layer. */
  overlay(upper: Layer): void {
    for (const [path, length] of upper.arrayLengths) {
      if (path.includes("]")) continue;
      for (const map of [this.entries, this.arrayLengths]) {
        for (const lower of map.keys()) if (lower.startsWith(`${path}[`)) map.delete(lower);
      }
      this.arrayLengths.set(path, length);
    }
    for (const [path, length] of upper.arrayLengths) this.arrayLengths.set(path, length);
    for (const [path, entry] of upper.entries) this.entries.set(path, entry);
  }
}
