export interface TurnTask {
  endTurn(): void;
}

/**
 * Runs tasks behind the current turn, so that everything the turn brings is one piece of work: one microtask for all
 * partitions of a shard. A task that throws is a fault of this program and ends the process.
 */
export class TurnEnd {
  private readonly waiting: TurnTask[] = [];
  private readonly now = Promise.resolve();

  schedule(task: TurnTask): void {
    if (this.waiting.push(task) === 1) void this.now.then(this.run);
  }

  private readonly run = (): void => {
    let done = 0;
    try {
      // A task may schedule more.
      while (done < this.waiting.length) this.waiting[done++]?.endTurn();
    } finally {
      this.waiting.splice(0, done);
      if (this.waiting.length > 0) void this.now.then(this.run);
    }
  };
}
