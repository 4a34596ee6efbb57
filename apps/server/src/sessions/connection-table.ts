import type { Connection, SessionBinding } from "../net/connection.js";

/** The live connections of this node, by number and by the session they are bound to. */
export class ConnectionTable {
  private readonly byId = new Map<number, Connection>();
  private readonly byClient = new Map<bigint, Set<Connection>>();

  get size(): number {
    return this.byId.size;
  }

  add(connection: Connection): void {
    this.byId.set(connection.id, connection);
  }

  remove(connection: Connection): void {
    this.byId.delete(connection.id);
    this.unbind(connection);
  }

  get(id: number): Connection | undefined {
    return this.byId.get(id);
  }

  all(): Iterable<Connection> {
    return this.byId.values();
  }

  bind(connection: Connection, binding: SessionBinding): void {
    this.unbind(connection);
    connection.binding = binding;
    const bound = this.byClient.get(binding.client) ?? new Set();
    bound.add(connection);
    this.byClient.set(binding.client, bound);
  }

  unbind(connection: Connection): void {
    const binding = connection.binding;
    if (binding === undefined) return;
    connection.binding = undefined;
    const bound = this.byClient.get(binding.client);
    bound?.delete(connection);
    if (bound?.size === 0) this.byClient.delete(binding.client);
  }

  /** Connections bound to the session of a client. */
  boundTo(client: bigint): readonly Connection[] {
    return [...(this.byClient.get(client) ?? [])];
  }
}
