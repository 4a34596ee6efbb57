import { isIP, isIPv6 } from "node:net";
import { refuse, tomlString, type Kind } from "./kind.js";

/** Where a listener binds: a literal IP and a port; port 0 lets the system choose one. */
export interface BindAddress {
  readonly host: string;
  readonly port: number;
}

const RULE = 'must be a literal IP and a port, such as "127.0.0.1:8090" or "[::1]:8090"';

export const addressKind: Kind<BindAddress, "none"> = {
  name: "address",
  unit: "none",
  fromToml: (value) => (typeof value === "string" ? parseBindAddress(value) : refuse(RULE)),
  fromText: parseBindAddress,
  toToml: (address) => tomlString(formatAddress(address.host, address.port)),
};

function parseBindAddress(text: string): BindAddress {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2] ?? "";
  const port = Number(match?.[3]);
  const isLiteral = match?.[1] === undefined ? isIP(host) === 4 : isIPv6(host);
  return isLiteral && port <= 65_535 ? { host, port } : refuse(RULE);
}

/** `host:port`, with brackets around an IPv6 host. */
export function formatAddress(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Addresses that stand for "every interface" when bound and that nobody can dial. */
export function isUnspecified(host: string): boolean {
  if (host === "0.0.0.0") return true;
  if (!isIPv6(host)) return false;
  const canonical = canonicalIpv6(host);
  return canonical === "::" || canonical === "::ffff:0:0";
}

export function isLoopback(host: string): boolean {
  if (!isIPv6(host)) return host.startsWith("127.");
  const canonical = canonicalIpv6(host);
  return canonical === "::1" || canonical.startsWith("::ffff:7f");
}

function canonicalIpv6(host: string): string {
  return new URL(`http://[${host.split("%", 1)[0] ?? host}]/`).hostname.slice(1, -1);
}

/**
 * A host that clients can dial: a literal IP other than the unspecified one, or an RFC 1123 host name (at most 253
 * bytes, labels of 1 to 63 ASCII letters, digits and `-`, none starting or ending with `-`). Names come back in lower
 * case.
 */
export function dialableHost(text: string): string {
  if (isIP(text) !== 0) {
    return isUnspecified(text) ? refuse("is the unspecified address, which nobody can dial") : text;
  }
  if (text.includes(":")) refuse("must be a host without a port");
  if (text.endsWith(".")) refuse("must not end with a dot");
  if (text.length > 253) refuse("must be at most 253 bytes");
  const labels = text.split(".");
  const isNamed = labels.every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(label));
  if (!isNamed) refuse("must be a literal IP or a host name of letters, digits, dots and hyphens");
  if (labels.every((label) => /^\d+$/.test(label))) refuse("is made of digits and dots but is no IPv4 address");
  return text.toLowerCase();
}

/** A literal IP, as the roster of a cluster wants it. */
export function literalIp(text: string): string {
  return isIP(text) === 0 ? refuse("must be a literal IP") : text;
}
