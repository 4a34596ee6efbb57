import { isIP } from "node:net";
import { refuse } from "./kind.js";

/** A network as comparable bits: IPv4 in 32, IPv6 in 128, so the two families never match each other. */
export interface Cidr {
  readonly family: 4 | 6;
  readonly network: bigint;
  readonly prefix: number;
}

const RULE = 'must be a network such as "10.0.0.0/8" or "fd00::/8"';

/**
 * Parses and truncates a network. An IPv4-mapped one (`::ffff:a.b.c.d/96` and longer) is the IPv4 network it maps;
 * with a shorter prefix it stays IPv6.
 */
export function parseCidr(text: string): Cidr {
  const match = /^([^/]+)\/(\d{1,3})$/.exec(text);
  const address = ipBits(match?.[1] ?? "");
  const prefix = Number(match?.[2]);
  if (address === undefined || prefix > width(address.family)) refuse(RULE);
  if (address.family === 6 && prefix >= 96 && isMapped(address.bits)) {
    return truncated(4, address.bits & 0xffff_ffffn, prefix - 96);
  }
  return truncated(address.family, address.bits, prefix);
}

/** The canonical text rule of a network key: parses, keeps the operator's spelling. */
export function cidrText(text: string): string {
  parseCidr(text);
  return text;
}

/** Whether a peer's address lies in the network. An IPv4-mapped peer counts as the IPv4 address it maps. */
export function cidrContains(cidr: Cidr, peer: string): boolean {
  const address = ipBits(peer);
  if (address === undefined) return false;
  const mapped = address.family === 6 && isMapped(address.bits);
  const family = mapped ? 4 : address.family;
  const bits = mapped ? address.bits & 0xffff_ffffn : address.bits;
  return family === cidr.family && truncated(family, bits, cidr.prefix).network === cidr.network;
}

function truncated(family: 4 | 6, bits: bigint, prefix: number): Cidr {
  const shift = BigInt(width(family) - prefix);
  return { family, network: (bits >> shift) << shift, prefix };
}

const width = (family: 4 | 6): number => (family === 4 ? 32 : 128);
const isMapped = (bits: bigint): boolean => bits >> 32n === 0xffffn;

function ipBits(text: string): { readonly family: 4 | 6; readonly bits: bigint } | undefined {
  const plain = text.split("%", 1)[0] ?? text;
  const family = isIP(plain);
  if (family === 4) return { family, bits: ipv4Bits(plain) };
  if (family !== 6) return undefined;
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(plain);
  const hextets =
    dotted === null
      ? plain
      : `${dotted[1] ?? ""}${(ipv4Bits(dotted[2] ?? "") >> 16n).toString(16)}:${(ipv4Bits(dotted[2] ?? "") & 0xffffn).toString(16)}`;
  const [head = "", tail] = hextets.split("::", 2);
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const gap = Array.from({ length: 8 - left.length - right.length }, () => "0");
  const bits = [...left, ...gap, ...right].reduce((sum, hextet) => (sum << 16n) | BigInt(`0x${hextet}`), 0n);
  return { family, bits };
}

function ipv4Bits(text: string): bigint {
  return text.split(".").reduce((sum, octet) => (sum << 8n) | BigInt(octet), 0n);
}
