/**
 * When each session was last heard of. The lease belongs to the session: any frame on any of its connections renews it,
 * and nothing here is replicated. Sessions that recovery brought back count from their first appearance.
 */
export class SessionLeases {
  private readonly lastSeenMillis = new Map<bigint, number>();

  touch(client: bigint, nowMillis: number): void {
    this.lastSeenMillis.set(client, nowMillis);
  }

  forget(client: bigint): void {
    this.lastSeenMillis.delete(client);
  }

  /** Of the live sessions, those that were silent for longer than the lease. */
  expired(live: Iterable<bigint>, nowMillis: number, leaseMillis: number): bigint[] {
    const silent: bigint[] = [];
    for (const client of live) {
      const seen = this.lastSeenMillis.get(client);
      if (seen === undefined) this.lastSeenMillis.set(client, nowMillis);
      else if (nowMillis - seen > leaseMillis) silent.push(client);
    }
    return silent;
  }
}
