import type { Connection } from "../net/connection.js";

/**
 * When each session was last heard of. The lease belongs to the session: whatever comes on any of its connections renews
 * it, and nothing here is replicated. Sessions that recovery brought back count from their first appearance.
 */
export class SessionLeases {
  private readonly lastSeenMillis = new Map<bigint, number>();

  touch(client: bigint, heardMillis: number): void {
    const seen = this.lastSeenMillis.get(client);
    if (seen === undefined || seen < heardMillis) this.lastSeenMillis.set(client, heardMillis);
  }

  /** Takes what was heard on a connection for the session that it is bound to. */
  heardOn({ binding, heardMillis }: Pick<Connection, "binding" | "heardMillis">): void {
    if (binding !== undefined) this.touch(binding.client, heardMillis);
  }

  /** Every session that was heard of, and when. */
  heard(): readonly { readonly client: bigint; readonly heardMillis: number }[] {
    return Array.from(this.lastSeenMillis, ([client, heardMillis]) => ({ client, heardMillis }));
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
