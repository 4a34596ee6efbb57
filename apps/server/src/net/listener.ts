/** Accepts clients on one address. */
export interface Listener {
  /** Port that was bound. */
  readonly port: number;
  /** Stops to accept; existing connections stay. */
  stopAccepting(): void;
  /** Ends every connection that is still there. */
  destroyConnections(): void;
  /** Both at once; nothing of it is left when it resolves. May be called in any state, and again. */
  close(): void | Promise<void>;
}
