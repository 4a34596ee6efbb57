import { ErrorCode } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import type { NodeWebSocketOptions } from "../transport/web-socket-node.js";
import { integer } from "../values/check.js";
import {
  type ClientConfig,
  DEFAULT_MAX_RESPONSE_FRAME_SIZE,
  type TransportName,
  type TransportOptions,
} from "./config.js";

type WebSocketName = Extract<TransportName, "WS" | "WSS">;

const schemes = { WS: "ws:", WSS: "wss:" } as const;
const schemePorts = { WS: 80, WSS: 443 } as const;
/** A token of HTTP. */
const subprotocol = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,255}$/;

/** What the transports of WebSocket are told. */
export function webSocketOptions(name: WebSocketName, config: ClientConfig): NodeWebSocketOptions {
  const { maxMessageSize, protocols = [] } = config.options ?? {};
  if (protocols.some((protocol) => !subprotocol.test(protocol))) {
    throw new ValidationError(ErrorCode.InvalidConfiguration, "options.protocols takes names of subprotocols");
  }
  const limit = maxMessageSize ?? config.maxResponseFrameSize ?? DEFAULT_MAX_RESPONSE_FRAME_SIZE;
  return {
    secure: name === "WSS",
    path: webSocketAddress(name, config.options ?? {})?.path ?? "/",
    protocols,
    maxMessageSize: integer("options.maxMessageSize", limit, 256, 0xffff_ffff),
  };
}

/**
 * Where `options.url` of a WebSocket leads; undefined without one. A URL without a port means that of its scheme. Throws
 * `InvalidApiUrl` (37) for a text that is no such URL; the text is not repeated, as it may hold a secret.
 */
export function webSocketAddress(
  name: TransportName,
  { url, host, port }: TransportOptions,
): { readonly host: string; readonly port: number; readonly path: string } | undefined {
  if (url === undefined || (name !== "WS" && name !== "WSS")) return undefined;
  const scheme = schemes[name];
  if (host !== undefined || port !== undefined) throw refused("options take a url, or host and port, not both");
  if (!URL.canParse(url)) throw refused(`options.url is no URL, such as ${scheme}//broker.example:8092`);
  const found = new URL(url);
  if (found.protocol !== scheme) throw refused(`options.url of ${name} begins with ${scheme}//`);
  if (found.username + found.password !== "") throw refused("options.url holds credentials; they go to `credentials`");
  if (found.hash !== "") throw refused("options.url holds a fragment, which no server is told");
  return {
    host: found.hostname.replace(/^\[|\]$/g, ""),
    port: found.port === "" ? schemePorts[name] : Number(found.port),
    path: `${found.pathname}${found.search}`,
  };
}

const refused = (why: string): ValidationError => new ValidationError(ErrorCode.InvalidApiUrl, why);
