/** Requests that may wait for metadata at one time; one more is told to come back. */
const WAITS_MAX = 1024;

interface Wait {
  readonly op: number;
  readonly resolve: (applied: boolean) => void;
  readonly timer: NodeJS.Timeout;
}

/** Requests that need a metadata op which this node has not applied yet. */
export class AppliedWaits {
  private readonly budgetMillis: number;
  private readonly waits = new Set<Wait>();

  constructor(budgetMillis: number) {
    this.budgetMillis = budgetMillis;
  }

  /** Resolves to true once the op is applied, to false when the budget runs out first. */
  wait(op: number): Promise<boolean> {
    if (this.waits.size >= WAITS_MAX) return Promise.resolve(false);
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.finish(wait, false), this.budgetMillis);
      timer.unref();
      const wait: Wait = { op, resolve, timer };
      this.waits.add(wait);
    });
  }

  applied(op: number): void {
    for (const wait of this.waits) if (wait.op <= op) this.finish(wait, true);
  }

  close(): void {
    for (const wait of this.waits) this.finish(wait, false);
  }

  private finish(wait: Wait, applied: boolean): void {
    clearTimeout(wait.timer);
    this.waits.delete(wait);
    wait.resolve(applied);
  }
}
