/** Work that goes on behind the requests, so that a stop can wait for it. Its promises never reject. */
export class JobList {
  private readonly running = new Set<Promise<void>>();

  add(job: Promise<void>): void {
    const tracked = job.finally(() => {
      this.running.delete(tracked);
    });
    this.running.add(tracked);
  }

  /** Resolves when nothing runs. */
  async settled(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }
}
