import fc from "fast-check";
import { expect, test } from "vitest";
import { answers, chooseSubnet, chooseUids, firstId, formatClaim, parseClaim, type RangeClaim } from "./range-claim.ts";
import { formatSubnet, parseSubnet } from "#lib/subnet.ts";

const claim: RangeClaim = { subnet: parseSubnet("10.231.0.0/16"), slots: 1024, firstUid: 0x7000_0000 };
const routeTo = (network: string, link: string): { link: string; destination: ReturnType<typeof parseSubnet> } => ({
  link,
  destination: parseSubnet(network),
});

test("a claim is read as it was written; other aliases are none", () => {
  expect(parseClaim(formatClaim(claim))).toEqual(claim);
  expect(parseClaim(`${formatClaim(claim)}\n`)).toEqual(claim);
  for (const alias of ["", "my bridge", "agentbox subnet=10.0.0.0/8"]) expect(parseClaim(alias)).toBeUndefined();
});

test("instances that come one after another never share user ids", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ slots: fc.integer({ min: 1, max: 2000 }), leaves: fc.boolean() }), { maxLength: 15 }), (instances) => {
      let taken: RangeClaim[] = [];
      for (const { slots, leaves } of instances) {
        const firstUid = chooseUids(slots, taken);
        const overlaps = taken.some(
          (other) => firstUid < other.firstUid + other.slots * 65_536 && other.firstUid < firstUid + slots * 65_536,
        );
        expect(overlaps).toBe(false);
        expect(firstUid).toBeGreaterThan(600_100_000);
        taken = leaves ? taken.slice(1) : taken;
        taken.push({ ...claim, slots, firstUid });
      }
    }),
  );
});

test("user ids that are free again between two instances are used again", () => {
  const second = { ...claim, firstUid: claim.firstUid + 1024 * 65_536 };
  expect(chooseUids(1024, [second])).toBe(claim.firstUid);
  expect(chooseUids(1025, [second])).toBe(second.firstUid + 1024 * 65_536);
});

test("a machine that has no ids left says so", () => {
  expect(() => chooseUids(40_000, [])).toThrow("no 40000 ranges of user ids are left on this machine");
});

test("slots have ranges beside each other", () => {
  expect(firstId(claim, 3) - firstId(claim, 2)).toBe(65_536);
});

test("the first usual network that no route leads into is taken, and it is said why others were not", () => {
  const routes = [routeTo("0.0.0.0/0", "eth0"), routeTo("10.231.7.0/24", "vpn0"), routeTo("10.232.0.0/16", "abxz")];
  const { subnet, passedOver } = chooseSubnet(undefined, routes);
  expect(formatSubnet(subnet)).toBe("10.233.0.0/16");
  expect(passedOver).toEqual(["10.231.0.0/16 (the route to 10.231.7.0/24 by vpn0)", "10.232.0.0/16 (the route to 10.232.0.0/16 by abxz)"]);
});

test("a wanted network is taken or refused, never exchanged", () => {
  expect(formatSubnet(chooseSubnet("172.30.0.0/24", []).subnet)).toBe("172.30.0.0/24");
  expect(() => chooseSubnet("172.30.0.0/24", [routeTo("172.16.0.0/12", "corp0")])).toThrow(
    "no network is free for sandboxes: 172.30.0.0/24 (the route to 172.16.0.0/12 by corp0); set one that this machine has no route into",
  );
});

test("a bridge stays as it is while it is what is asked for", () => {
  expect(answers(claim, { slots: 1024 })).toBe(true);
  expect(answers(claim, { slots: 1024, subnet: "10.231.0.0/16" })).toBe(true);
  expect(answers(claim, { slots: 1024, subnet: "10.231.0.0/17" })).toBe(false);
  expect(answers(claim, { slots: 10 })).toBe(false);
});
