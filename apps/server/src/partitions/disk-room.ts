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

  /** Undefined when the read is refused. A read that has room and is done at once gives its result at once. */
  run<R>(wantedBytes: number, read: () => R): R | Promise<Awaited<R>> | undefined {
    if (this.reads >= this.capacity) return undefined;
    this.reads++;
    const bytes = Math.min(wantedBytes, this.bytesMax);
    if (this.waiting.length > 0 || bytes > this.freeBytes) return this.wait(bytes, read);
    this.freeBytes -= bytes;
    let isUnderWay = false;
    try {
      const result = read();
      isUnderWay = result instanceof Promise;
      return isUnderWay ? this.finish(bytes, result) : result;
    } finally {
      if (!isUnderWay) this.release(bytes);
    }
  }

  private async wait<R>(bytes: number, read: () => R): Promise<Awaited<R>> {
    await new Promise<void>((start) => this.waiting.push({ bytes, start }));
    try {
      return await read();
    } finally {
      this.release(bytes);
    }
  }

  private async finish<R>(bytes: number, reading: R): Promise<Awaited<R>> {
    try {
      return await reading;
    } finally {
      this.release(bytes);
    }
  }

  private release(bytes: number): void {
    this.freeBytes += bytes;
    this.reads--;
    this.startWaiting();
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
