/** `ip:port`, `[ip]:port` for IPv6; an IPv4 address in IPv6 clothing is shown as what it is. */
export function addressText(address: string, port: number): string {
  const mapped = address.startsWith("::ffff:") && address.includes(".") ? address.slice("::ffff:".length) : address;
  return mapped.includes(":") ? `[${mapped}]:${port}` : `${mapped}:${port}`;
}
