import type { ConnectionFacts } from "../node/connection-facts.js";
import type { ClientRequest } from "../request.js";

/** A request of somebody who is signed in, however it came: over a connection, or from a caller in this process. */
export interface CommandRequest extends ClientRequest {
  readonly isAnswered: boolean;
  /** Whom the node sees asking. */
  readonly peer: ConnectionFacts;
  /** Ends the request because its session is gone, for a reason that clients map to an error. */
  evict(reason: number): void;
}
