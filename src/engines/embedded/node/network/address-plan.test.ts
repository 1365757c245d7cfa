import fc from "fast-check";
import { expect, test } from "vitest";
import { bridgeName, checkInstanceId, macOf, portPrefix, roomFor, slotAddresses } from "./address-plan.ts";
import { parseSubnet } from "#lib/subnet.ts";

const plan = { instance: "a1", subnet: parseSubnet("10.231.0.0/16"), slots: 1024 };

test("names and addresses of a slot follow from the instance and the slot's number", () => {
  expect(slotAddresses(plan, 0)).toEqual({ port: "abxa1-0", ip: "10.231.0.2", mac: "02:ab:0a:e7:00:02" });
  expect(slotAddresses(plan, 300)).toEqual({ port: "abxa1-300", ip: "10.231.1.46", mac: "02:ab:0a:e7:01:2e" });
});

test("no two slots share a port, an address or a MAC, and the last one that fits is below the broadcast address", () => {
  const small = { instance: "a", subnet: parseSubnet("10.9.8.0/28"), slots: 13 };
  expect(roomFor(small.subnet)).toBe(13);
  const slots = Array.from({ length: roomFor(small.subnet) }, (_, slot) => slotAddresses(small, slot));
  for (const field of ["port", "ip", "mac"] as const) expect(new Set(slots.map((slot) => slot[field])).size).toBe(13);
  expect(slots.at(-1)?.ip).toBe("10.9.8.14");
});

test("names of links are short enough for the kernel, and those of one instance never look like another's", () => {
  const id = fc.stringMatching(/^[a-z0-9]{1,6}$/);
  fc.assert(
    fc.property(id, id, fc.nat(65_535), (one, other, slot) => {
      fc.pre(one !== other);
      const { port } = slotAddresses({ ...plan, instance: other }, slot);
      expect(port.length).toBeLessThanOrEqual(15);
      for (const name of [port, bridgeName(other)]) expect(name.startsWith(portPrefix(one))).toBe(false);
    }),
  );
});

test.each(["", "toolong", "A", "a-b", "ä", "a b"])("%j is refused as the id of an instance", (instance) => {
  expect(() => checkInstanceId(instance)).toThrow("cannot be the id of an instance: 1 to 6 lower-case letters and digits");
});

test("a MAC is locally administered and for one station", () => {
  const first = Number.parseInt(macOf(1).slice(0, 2), 16);
  expect([first & 1, first & 2]).toEqual([0, 2]);
});
