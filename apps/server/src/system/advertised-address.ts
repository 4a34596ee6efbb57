import { cidrContains, parseCidr, publishedListener, type Cidr, type ServerConfig } from "../config/index.js";

/** The addresses a node gives to clients. */
export interface AdvertisedAddresses {
  /** Given to a client that no selector matches. */
  readonly fallback: string;
  readonly selectors: readonly { readonly network: Cidr; readonly address: string }[];
}

/** The address for a client: that of the matching network with the longest prefix, otherwise the fallback. */
export function advertisedAddressFor(addresses: AdvertisedAddresses, clientIp: string): string {
  let best: { readonly network: Cidr; readonly address: string } | undefined;
  for (const selector of addresses.selectors) {
    const isLonger = best === undefined || selector.network.prefix > best.network.prefix;
    if (isLonger && cidrContains(selector.network, clientIp)) best = selector;
  }
  return best?.address ?? addresses.fallback;
}

/** A node of the roster: its selectors, then its advertised address, then its own ip. */
export function rosterAddresses(node: ServerConfig["cluster"]["nodes"][number]): AdvertisedAddresses {
  return {
    fallback: node.advertisedAddress ?? node.ip,
    selectors: node.advertisedAddresses.map(({ clientCidr, address }) => ({ network: parseCidr(clientCidr), address })),
  };
}

/** A node of its own: `node.advertised_address`, then the IP of its first listener. Undefined without any listener. */
export function standaloneAddresses(config: ServerConfig): AdvertisedAddresses | undefined {
  const fallback = config.node.advertisedAddress ?? publishedListener(config)?.address.host;
  return fallback === undefined ? undefined : { fallback, selectors: [] };
}
