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
  /** A dial follows after a pause, ms; of one replica, or else of any endpoint because no link is left. */
  reconnecting: { readonly attempt: number; readonly delay: number; readonly replicaId?: number };
  /** Another replica leads the metadata. */
  "leader-changed": { readonly replicaId: number; readonly previous: number };
  /** Another replica leads a partition, which is spelled as its caller did. */
  "route-moved": {
    readonly streamId: number | string;
    readonly topicId: number | string;
    readonly partitionId: number;
    readonly replicaId: number;
    readonly previous: number;
  };
  /** The server lost the session; a new one follows. */
  sessionReset: NoDetails;
  heartbeat: { readonly durationMs: number };
  eviction: { readonly reason: string; readonly error: IggyError };
  "operation-retained": { readonly operationId: bigint; readonly code: number };
  error: { readonly error: unknown };
}

export type ClientEventName = keyof ClientEvents;
export type Emit = <Name extends ClientEventName>(name: Name, event: ClientEvents[Name]) => void;
