import type { IggyError } from "../errors/index.js";

/** Of an event that says all with its name. */
type NoDetails = object;

/** What a client tells its listeners. */
export interface ClientEvents {
  /** The first link of a connect is up. */
  connected: { readonly address: string };
  /** `disconnect()`, or a link was lost and none is left. */
  disconnected: { readonly error?: IggyError };
  signedIn: { readonly userId: number };
  signedOut: NoDetails;
  shutdown: NoDetails;
  "link-up": { readonly address: string; readonly replicaId?: number };
  "link-down": { readonly address: string; readonly replicaId?: number; readonly error?: IggyError };
  reconnecting: { readonly attempt: number; readonly delay: number };
  /** The server lost the session; a new one follows. */
  sessionReset: NoDetails;
  heartbeat: { readonly durationMs: number };
  eviction: { readonly reason: string; readonly error: IggyError };
  "operation-retained": { readonly operationId: bigint; readonly code: number };
  error: { readonly error: unknown };
}

export type ClientEventName = keyof ClientEvents;
export type Emit = <Name extends ClientEventName>(name: Name, event: ClientEvents[Name]) => void;
