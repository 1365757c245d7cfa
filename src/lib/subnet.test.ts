import fc from "fast-check";
import { expect, test } from "vitest";
import {
  addressBytes,
  contains,
  formatAddress,
  formatSubnet,
  overlap,
  parseAddress,
  parseSubnet,
  type Subnet,
  subnetSize,
  withoutContained,
} from "./subnet.ts";

const anySubnet: fc.Arbitrary<Subnet> = fc
  .tuple(fc.nat(0xffff_ffff), fc.integer({ min: 0, max: 32 }))
  .map(([address, prefixLength]) => parseSubnet(`${formatAddress(address)}/${prefixLength}`));

const holds = (subnet: Subnet, address: number): boolean => contains(subnet, { base: address, prefixLength: 32 });

test("a network is read with the bits of its hosts cut off, an address alone is a network of one", () => {
  expect(formatSubnet(parseSubnet("10.231.7.9/16"))).toBe("10.231.0.0/16");
  expect(formatSubnet(parseSubnet("8.8.8.8"))).toBe("8.8.8.8/32");
  expect(formatSubnet(parseSubnet("200.1.2.3/0"))).toBe("0.0.0.0/0");
});

test.each(["", "10.0.0/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8/8", "256.0.0.0/8", "example.org", "::1/128", "1.2.3.4/-1", "a.b.c.d"])(
  "%j is refused as a network",
  (text) => {
    expect(() => parseSubnet(text)).toThrow(`${JSON.stringify(text)} is no IPv4 network; it would look like 10.231.0.0/16`);
  },
);

test("an address is written as it is read", () => {
  fc.assert(
    fc.property(fc.nat(0xffff_ffff), (address) => {
      expect(parseAddress(formatAddress(address))).toBe(address);
      expect(addressBytes(address).readUInt32BE()).toBe(address);
    }),
  );
});

test("a network contains exactly its addresses", () => {
  fc.assert(
    fc.property(anySubnet, fc.nat(0xffff_ffff), (subnet, address) => {
      expect(holds(subnet, address)).toBe(address >= subnet.base && address < subnet.base + subnetSize(subnet));
    }),
  );
});

test("two networks overlap if and only if one contains the other", () => {
  fc.assert(
    fc.property(anySubnet, anySubnet, (a, b) => {
      const share = a.base < b.base + subnetSize(b) && b.base < a.base + subnetSize(a);
      expect(overlap(a, b)).toBe(share);
    }),
  );
});

test("a list without contained networks has the same addresses, and no two of it overlap", () => {
  fc.assert(
    fc.property(fc.array(anySubnet, { maxLength: 12 }), fc.nat(0xffff_ffff), (subnets, address) => {
      const kept = withoutContained(subnets);
      expect(kept.some((subnet) => holds(subnet, address))).toBe(subnets.some((subnet) => holds(subnet, address)));
      expect(kept.some((a, i) => kept.some((b, j) => i !== j && overlap(a, b)))).toBe(false);
    }),
  );
});
