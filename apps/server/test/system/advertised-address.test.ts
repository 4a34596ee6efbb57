import { describe, expect, it } from "vitest";
import { cidrContains, parseCidr } from "../../src/config/index.js";
import { advertisedAddressFor, rosterAddresses, standaloneAddresses } from "../../src/system/index.js";
import { read } from "../config/read.js";

describe("network", () => {
  it.each([
    ["10.0.0.0/8", "10.200.1.1", true],
    ["10.9.9.9/8", "10.200.1.1", true],
    ["10.0.0.0/8", "11.0.0.1", false],
    ["0.0.0.0/0", "203.0.113.9", true],
    ["192.168.1.7/32", "192.168.1.7", true],
    ["192.168.1.7/32", "192.168.1.8", false],
    ["fd00::/8", "fdab::1", true],
    ["fd00::/8", "fe80::1%eth0", false],
    ["::/0", "2001:db8::1", true],
    ["::/0", "10.0.0.1", false],
    ["0.0.0.0/0", "2001:db8::1", false],
    ["10.0.0.0/8", "::ffff:10.1.2.3", true],
    ["::ffff:10.0.0.0/104", "10.1.2.3", true],
    ["::ffff:10.0.0.0/95", "10.1.2.3", false],
    ["2001:db8::/32", "2001:db8:1:2:3:4:5:6", true],
    ["2001:db8::1:0:0/96", "2001:db8::1:0:7", true],
    ["10.0.0.0/8", "not an address", false],
  ])("%s holds %s: %s", (cidr, peer, holds) => {
    expect(cidrContains(parseCidr(cidr), peer)).toBe(holds);
  });

  it.each(["10.0.0.0", "10.0.0.0/33", "fd00::/129", "/8", "host/8", "10.0.0.0/-1", "10.0.0.0/8/8", "10.0.0/8"])(
    "%s is none",
    (text) => {
      expect(() => parseCidr(text)).toThrow("must be a network");
    },
  );
});

describe("address given to a client", () => {
  const node = read({
    toml: `
      [[cluster.nodes]]
      name = "a"
      ip = "10.0.0.1"
      replica_id = 0
      advertised_address = "public.example"
      [[cluster.nodes.advertised_addresses]]
      client_cidr = "10.0.0.0/8"
      address = "wide.example"
      [[cluster.nodes.advertised_addresses]]
      client_cidr = "10.1.0.0/16"
      address = "narrow.example"
      [[cluster.nodes.advertised_addresses]]
      client_cidr = "::/0"
      address = "six.example"
    `,
  }).config.cluster.nodes[0]!;

  it.each([
    ["10.2.0.1", "wide.example"],
    ["10.1.2.3", "narrow.example"],
    ["::ffff:10.1.2.3", "narrow.example"],
    ["192.168.0.1", "public.example"],
    ["2001:db8::1", "six.example"],
  ])("%s is %s", (client, address) => {
    expect(advertisedAddressFor(rosterAddresses(node), client)).toBe(address);
  });

  it("falls back to the node's own ip", () => {
    const bare = { ...node, advertisedAddress: undefined, advertisedAddresses: [] };
    expect(advertisedAddressFor(rosterAddresses(bare), "1.1.1.1")).toBe("10.0.0.1");
  });
});

describe("address of a node of its own", () => {
  it.each([
    ["", "127.0.0.1"],
    ['tcp.address = "10.0.0.5:8090"', "10.0.0.5"],
    ['tcp.address = "0.0.0.0:8090"\nnode.advertised_address = "Broker.Example"', "broker.example"],
    ['tcp.enabled = false\nwebsocket.address = "10.0.0.6:1"', "10.0.0.6"],
    ["tcp.enabled = false\nwebsocket.enabled = false\nquic.enabled = false\nhttp.enabled = false", undefined],
  ])("%j", (toml, address) => {
    const addresses = standaloneAddresses(read({ toml }).config);
    expect(addresses && advertisedAddressFor(addresses, "203.0.113.1")).toBe(address);
  });
});
