import type { Socket } from "node:net";

/** `ip:port` of the peer, with brackets around IPv6; an IPv4 peer of a dual-stack socket is known by its IPv4 address. */
export function peerAddress({ remoteAddress, remotePort }: Pick<Socket, "remoteAddress" | "remotePort">): string {
  const host = remoteAddress ?? "unknown";
  const mapped = host.startsWith("::ffff:") && host.includes(".") ? host.slice(7) : host;
  return mapped.includes(":") ? `[${mapped}]:${remotePort ?? 0}` : `${mapped}:${remotePort ?? 0}`;
}
