import type { MessageDefaults } from "../api/outgoing-messages.js";
import { FeatureUnavailableError } from "../errors/index.js";
import { HttpParts } from "../http/http-parts.js";
import { endpointText } from "../transport/index.js";
import type { ClientConfig } from "./config.js";
import type { Settings } from "./settings.js";

/** What a client over HTTP is made of; undefined for the other transports. */
export function httpPartsOf(
  config: ClientConfig,
  settings: Settings,
  defaults: MessageDefaults,
): HttpParts | undefined {
  const { transport, random, maxOperations } = settings;
  if (transport !== "HTTP" && transport !== "HTTPS") return undefined;
  if (config.tls !== undefined && Object.keys(config.tls).length > 0) {
    throw new FeatureUnavailableError(
      "HTTPS checks certificates by the rules of the platform: give roots in NODE_EXTRA_CA_CERTS, or a fetch of your own",
    );
  }
  const [endpoint] = settings.endpoints;
  const address = endpoint === undefined ? "" : endpointText(endpoint);
  const url = config.options?.url ?? `${transport.toLowerCase()}://${address}`;
  return new HttpParts({ ...config.http, url, credentials: config.credentials, random, maxOperations, defaults });
}
