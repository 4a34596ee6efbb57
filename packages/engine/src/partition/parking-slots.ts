/**
 * How many reads may wait at a time, in all and per client. Both bounds exist so that one client can not use up the
 * room of the others.
 */
export class ParkingSlots {
  private taken = 0;
  private readonly byClient = new Map<bigint, number>();

  constructor(
    private readonly max: number,
    private readonly maxPerClient: number,
  ) {}

  get size(): number {
    return this.taken;
  }

  /** Returns false, with nothing taken, when a bound is reached. */
  take(client: bigint): boolean {
    const own = this.byClient.get(client) ?? 0;
    if (this.taken >= this.max || own >= this.maxPerClient) return false;
    this.taken++;
    this.byClient.set(client, own + 1);
    return true;
  }

  release(client: bigint): void {
    const own = this.byClient.get(client);
    if (own === undefined) throw new RangeError("a slot was released that nobody took");
    this.taken--;
    if (own === 1) this.byClient.delete(client);
    else this.byClient.set(client, own - 1);
  }
}
