import type { ClientRequest } from "../request.js";

/** A request of a client for a metadata operation, on a connection of this shard or of another one. */
export interface OperationRequest extends Pick<
  ClientRequest,
  | "client"
  | "session"
  | "userId"
  | "request"
  | "requestChecksum"
  | "operation"
  | "partitionIncarnation"
  | "body"
  | "deny"
  | "committed"
> {
  /** Ends the request together with its connection, for a reason that clients map to an error. */
  evict(reason: number): void;
}
