import { BlockList } from "node:net";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isPublicAddress } from "./public-address.ts";

test.each([
  "1.1.1.1",
  "8.8.8.8",
  "100.63.255.255",
  "100.128.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "169.253.255.255",
  "192.167.255.255",
  "223.255.255.255",
  "2606:4700::1111",
  "2001:4860:4860::8888",
  "2a00:1450:4001:830::200e",
  "::ffff:8.8.8.8",
  "64:ff9b::808:808",
])("%s is public", (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each([
  // This machine, and "no address", which Linux takes for this machine.
  "127.0.0.1",
  "127.255.255.254",
  "0.0.0.0",
  "0.1.2.3",
  "::",
  "::1",
  "0:0:0:0:0:0:0:1",
  // Private networks, and those of carriers.
  "10.0.0.1",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "100.64.0.1",
  "100.127.255.255",
  "fc00::1",
  "fd00:ec2::254",
  "fd20:ce::254",
  "fec0::1",
  // Metadata services.
  "169.254.169.254",
  "169.254.170.2",
  "100.100.100.200",
  "168.63.129.16",
  "fe80::1",
  "fe80::a9fe:a9fe",
  "fe80::1%eth0",
  "2606:4700::1111%eth0",
  // IPv4 in IPv6.
  "::ffff:127.0.0.1",
  "::ffff:7f00:1",
  "::ffff:169.254.169.254",
  "::127.0.0.1",
  "64:ff9b::7f00:1",
  "64:ff9b::169.254.169.254",
  "64:ff9b:1::808:808",
  "2002:7f00:1::",
  "2002:a9fe:a9fe::1",
  "2001::7f00:1",
  // Documentation, tests, multicast, reserved.
  "192.0.0.170",
  "192.0.2.1",
  "192.88.99.1",
  "198.18.0.1",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "2001:db8::1",
  "3fff::1",
  "100::1",
  "ff02::1",
  // No address in its usual form: no answer but no.
  "",
  "localhost",
  "2130706433",
  "0x7f.1",
  "0177.0.0.1",
  "127.1",
  "8.8.8.8/32",
  "[2606:4700::1111]",
  " 8.8.8.8",
])("%s is not public", (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

/** The most common closed networks, in a list that node itself checks. */
const closed = new BlockList();
for (const [network, length] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const) {
  closed.addSubnet(network, length);
}

describe("for any address", () => {
  const near = fc.constantFrom(0, 10, 100, 127, 169, 172, 192, 224, 240, 255);
  const byte = fc.integer({ min: 0, max: 255 });
  const ipv4 = fc.tuple(fc.oneof(near, byte), fc.oneof(fc.constantFrom(16, 31, 64, 127, 168, 254), byte), byte, byte);

  test("a closed IPv4 network is closed, in each of its forms", () => {
    fc.assert(
      fc.property(ipv4, ([a, b, c, d]) => {
        const text = `${a}.${b}.${c}.${d}`;
        const hex = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
        const answer = isPublicAddress(text);
        expect(answer && closed.check(text)).toBe(false);
        for (const form of [`::ffff:${text}`, `::ffff:${hex}`, `0:0:0:0:0:ffff:${hex}`, `64:ff9b::${hex}`, `64:ff9b::${text}`]) {
          expect(isPublicAddress(form)).toBe(answer);
        }
        for (const form of [`::${hex}`, `2002:${hex}::1`, `64:ff9b:1::${hex}`]) expect(isPublicAddress(form)).toBe(false);
      }),
    );
  });

  test("IPv6 is public inside 2000::/3 only, however it is written", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 }), (groups) => {
        const [first = 0] = groups;
        const long = groups.map((group) => group.toString(16).padStart(4, "0")).join(":");
        const short = new URL(`http://[${long}]/`).hostname.slice(1, -1);
        expect(isPublicAddress(short)).toBe(isPublicAddress(long));
        const mayBe = first === 0x64 || (first >= 0x2000 && first < 0x4000);
        expect(isPublicAddress(long) && !mayBe).toBe(false);
      }),
    );
  });
});
