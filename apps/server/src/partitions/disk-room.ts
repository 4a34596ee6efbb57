interface WaitingRead {
  readonly bytes: number;
  readonly start: () => void;
}

/**
 * Memory that reads from disk may hold at a time. A read that finds no room waits its turn; when too many reads run and
 * wait, new ones are refused before they touch the disk.
 */
export class DiskReadRoom {
  private freeBytes: number;
  private reads = 0;
  private readonly capacity: number;
  private readonly bytesMax: number;
  private readonly waiting: WaitingRead[] = [];

  constructor(capacity: number, bytesMax: number) {
    this.capacity = capacity;
    this.bytesMax = bytesMax;
    this.freeBytes = bytesMax;
  }

  /** Undefined when the read is refused. */
  run<T>(wantedBytes: number, read: () => T | Promise<T>): Promise<T> | undefined {
    if (this.reads >= this.capacity) return undefined;
    this.reads++;
    return this.take(Math.min(wantedBytes, this.bytesMax), read);
  }

  private async take<T>(bytes: number, read: () => T | Promise<T>): Promise<T> {
    if (this.waiting.length === 0 && bytes <= this.freeBytes) this.freeBytes -= bytes;
    else await new Promise<void>((start) => this.waiting.push({ bytes, start }));
    try {
      return await read();
    } finally {
      this.freeBytes += bytes;
      this.reads--;
      this.startWaiting();
    }
  }

  /** Takes the room for whoever starts, before anybody else can. */
  private startWaiting(): void {
    for (let next = this.waiting[0]; next !== undefined && next.bytes <= this.freeBytes; next = this.waiting[0]) {
      this.waiting.shift();
      this.freeBytes -= next.bytes;
      next.start();
    }
  }
}
