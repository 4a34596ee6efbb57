import { ErrorCode } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import type { Endpoint } from "../transport/index.js";

const label = /^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/;

/** Checks host and port of an endpoint; `InvalidIpAddress` (35) otherwise. */
export function checkedEndpoint(host: unknown, port: unknown): Endpoint {
  if (typeof host !== "string" || !isHost(host)) throw refused("host is no host name, IPv4 or IPv6 address", host);
  if (typeof port !== "number" || !Number.isInteger(port) || port < 1 || port > 65_535) {
    throw refused("port takes 1 to 65535", port);
  }
  return { host, port };
}

/** Reads `host:port`, `ipv4:port` or `[ipv6]:port`. */
export function parseEndpoint(text: string): Endpoint {
  const bracketed = /^\[([^\]]*)\]:([0-9]{1,5})$/.exec(text);
  if (bracketed !== null) {
    const host = bracketed[1] ?? "";
    if (!isIpv6(host)) throw refused("there is no IPv6 address in the brackets", text);
    return checkedEndpoint(host, Number(bracketed[2]));
  }
  const plain = /^([^:]+):([0-9]{1,5})$/.exec(text);
  if (plain === null) throw refused("an address is host:port, with an IPv6 host in brackets", text);
  return checkedEndpoint(plain[1], Number(plain[2]));
}

function isHost(host: string): boolean {
  if (host.includes(":")) return isIpv6(host);
  if (/^[0-9.]+$/.test(host)) return isIpv4(host);
  const name = host.endsWith(".") ? host.slice(0, -1) : host;
  return name.length <= 253 && name.split(".").every((part) => label.test(part));
}

const isIpv4 = (host: string): boolean =>
  /^[0-9]{1,3}(\.[0-9]{1,3}){3}$/.test(host) && host.split(".").every((part) => Number(part) <= 255);

function isIpv6(host: string): boolean {
  const address = host.split("%")[0] ?? "";
  try {
    return new URL(`http://[${address}]`).hostname.startsWith("[");
  } catch {
    return false;
  }
}

const refused = (why: string, value: unknown): ValidationError =>
  new ValidationError(ErrorCode.InvalidIpAddress, `${why}: ${String(value)}`);
