import {
  type ConnectionOptions,
  type ConnectionTransport,
  readConnectionOptions,
  refused,
} from "./connection-options.js";

export type Credentials =
  | { readonly kind: "password"; readonly username: string; readonly password: string }
  | { readonly kind: "token"; readonly token: string };

/** A connection string, taken apart. `host` has no brackets around an IPv6 address. */
export interface ConnectionString {
  readonly transport: ConnectionTransport;
  readonly credentials: Credentials;
  readonly host: string;
  readonly port: number;
  readonly options: ConnectionOptions;
}

const transports: Readonly<Record<string, ConnectionTransport>> = {
  iggy: "tcp",
  "iggy+tcp": "tcp",
  "iggy+quic": "quic",
  "iggy+http": "http",
  "iggy+ws": "websocket",
};

const apart = "give a user name or password with this character apart from the string";

/**
 * Reads `scheme://credentials@host:port[?key=value&…]`. Schemes are `iggy` and `iggy+tcp`, `iggy+quic`, `iggy+http` and
 * `iggy+ws`; credentials are `username:password` or a personal access token, taken as they stand.
 *
 * Anything else is `InvalidConnectionString` (8000); a bad number of retries over TCP and QUIC is `InvalidNumberValue`
 * (84). Texts of refusals say what broke the grammar and hold no part of the credentials.
 */
export function parseConnectionString(text: string): ConnectionString {
  const [scheme = "", rest, ...more] = text.split("://");
  if (rest === undefined) throw refused('"://" is missing after the scheme');
  if (more.length > 0) throw refused(`a second "://"; ${apart}`);
  const transport = Object.hasOwn(transports, scheme) ? transports[scheme] : undefined;
  if (transport === undefined) throw refused(`the scheme takes ${Object.keys(transports).join(", ")}`);
  const [credentials = "", location, ...others] = rest.split("@");
  if (location === undefined) throw refused('"@" is missing after the credentials');
  if (others.length > 0) throw refused(`a second "@"; ${apart}`);
  const [address = "", query, ...queries] = location.split("?");
  if (queries.length > 0) throw refused('a second "?"');
  return {
    transport,
    credentials: readCredentials(credentials),
    ...readAddress(address),
    options: readQuery(transport, query),
  };
}

function readCredentials(text: string): Credentials {
  if (text.includes("?")) throw refused(`"?" before "@"; ${apart}`);
  const [first = "", password, ...more] = text.split(":");
  if (more.length > 0) throw refused(`a second ":" before "@"; ${apart}`);
  if (password === undefined) {
    if (first === "") throw refused('the credentials before "@" are missing');
    return { kind: "token", token: first };
  }
  // A token is base64 and may hold a slash; in a name or password other readers of URLs take it for the end of the host.
  if (text.includes("/")) throw refused(`"/" before "@"; ${apart}`);
  if (first === "" || password === "") throw refused('a user name and a password stand around ":"');
  return { kind: "password", username: first, password };
}

function readAddress(address: string): { host: string; port: number } {
  const bracketed = /^\[([0-9a-fA-F:.]+)\](.*)$/s.exec(address);
  if (bracketed !== null) return { host: bracketed[1] ?? "", port: readPort(bracketed[2] ?? "") };
  const colon = address.indexOf(":");
  if (colon === -1) throw refused('":" and a port are missing after the host');
  const host = address.slice(0, colon);
  if (!/^[^\s/?#[\]]+$/.test(host))
    throw refused("the host takes a name, an IPv4 address or an IPv6 address in brackets");
  return { host, port: readPort(address.slice(colon)) };
}

/** `text` starts with the colon before the port. */
function readPort(text: string): number {
  const stray = /[^0-9]/.exec(text.slice(1));
  if (stray !== null) throw refused(`"${stray[0]}" in the port`);
  const port = Number(text.slice(1));
  if (!text.startsWith(":") || text.length > 6 || port < 1 || port > 65_535) throw refused("a port takes 1 to 65535");
  return port;
}

function readQuery(transport: ConnectionTransport, query: string | undefined): ConnectionOptions {
  if (query === undefined) return {};
  if (query === "" && transport === "websocket") return {};
  return readConnectionOptions(transport, query.split("&"));
}
