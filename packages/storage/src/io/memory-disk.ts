/** A disk loses or keeps what was not synced in units of this size. */
export const SECTOR_BYTES = 512;

/** Bytes of a file as programs see them, and what stable storage holds where the two differ. */
export class MemoryFile {
  private data = new Uint8Array(SECTOR_BYTES);
  private length = 0;
  private durableLength = 0;
  /** Stable bytes of the sectors that were changed since the last sync. */
  private readonly changed = new Map<number, Uint8Array>();

  get size(): number {
    return this.length;
  }

  bytes(): Uint8Array {
    return this.data.subarray(0, this.length);
  }

  write(bytes: Uint8Array, position: number): void {
    const end = position + bytes.length;
    this.remember(Math.min(position, this.length), end);
    this.grow(end);
    this.data.set(bytes, position);
    this.length = Math.max(this.length, end);
  }

  truncate(size: number): void {
    this.remember(Math.min(size, this.length), Math.max(size, this.length));
    this.grow(size);
    this.data.fill(0, Math.min(size, this.length), Math.max(size, this.length));
    this.length = size;
  }

  sync(): void {
    this.changed.clear();
    this.durableLength = this.length;
  }

  /** What a loss of power leaves: each unsynced sector, and the size, is the stable or the new one. */
  losePower(random: () => number): void {
    for (const [sector, stable] of this.changed) {
      if (random() < 0.5) this.data.set(stable, sector * SECTOR_BYTES);
    }
    const low = Math.min(this.length, this.durableLength);
    const high = Math.max(this.length, this.durableLength);
    this.grow(high);
    this.length = low + Math.floor(random() * (high - low + 1));
    this.data.fill(0, this.length);
    this.sync();
  }

  private remember(start: number, end: number): void {
    this.grow(end);
    for (let sector = Math.floor(start / SECTOR_BYTES); sector * SECTOR_BYTES < end; sector++) {
      if (this.changed.has(sector)) continue;
      this.changed.set(sector, this.data.slice(sector * SECTOR_BYTES, (sector + 1) * SECTOR_BYTES));
    }
  }

  private grow(size: number): void {
    const needed = Math.ceil(size / SECTOR_BYTES) * SECTOR_BYTES;
    if (needed <= this.data.length) return;
    const larger = new Uint8Array(Math.max(needed, this.data.length * 2));
    larger.set(this.data);
    this.data = larger;
  }
}

type Entry = MemoryFile | MemoryDirectory;

interface NameChange {
  readonly name: string;
  readonly before: Entry | undefined;
}

/** Names of a directory. Changes become stable in their order, as a journaling file system writes them. */
export class MemoryDirectory {
  readonly entries = new Map<string, Entry>();
  private pending: (readonly NameChange[])[] = [];

  /** One atomic change of any number of names; an undefined entry removes its name. */
  change(names: readonly (readonly [name: string, entry: Entry | undefined])[]): void {
    this.pending.push(names.map(([name]) => ({ name, before: this.entries.get(name) })));
    for (const [name, entry] of names) this.put(name, entry);
  }

  sync(): void {
    this.pending = [];
  }

  losePower(random: () => number): void {
    const kept = Math.floor(random() * (this.pending.length + 1));
    for (const changes of this.pending.slice(kept).reverse()) {
      for (const { name, before } of changes.toReversed()) this.put(name, before);
    }
    this.sync();
    for (const entry of this.entries.values()) entry.losePower(random);
  }

  private put(name: string, entry: Entry | undefined): void {
    if (entry === undefined) this.entries.delete(name);
    else this.entries.set(name, entry);
  }
}
