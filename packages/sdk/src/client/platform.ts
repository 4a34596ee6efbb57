import type { Transport } from "../transport/index.js";
import type { ClientConfig, TransportName } from "./config.js";

/**
 * What a runtime offers. There is one for Node.js and one for browsers; each package entry gives its own to the client,
 * so that a browser bundle never reaches the modules of Node.js.
 */
export interface Platform {
  /** Loads a transport, or rejects with `FeatureUnavailableError` when this runtime has none of that name. */
  loadTransport(name: TransportName, config: ClientConfig): Promise<Transport>;
}
