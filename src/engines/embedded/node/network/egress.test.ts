import { expect, test } from "vitest";
import { egressChange, egressElements, noEgress } from "./egress.ts";

const ip = "10.231.0.5";

test("a pod without a policy needs nothing in the firewall", () => {
  expect(egressElements(ip, undefined)).toEqual(noEgress);
  expect(egressElements(ip, { internet: true, allow: [], deny: [] })).toEqual(noEgress);
});

test("a policy becomes elements for the pod's address, without networks that lie in each other", () => {
  expect(egressElements(ip, { internet: false, allow: ["8.8.8.8", "8.8.0.0/16"], deny: ["0.0.0.0/0", "1.2.3.0/24"] })).toEqual({
    offline: ["10.231.0.5"],
    allowed: ["10.231.0.5 . 8.8.0.0/16"],
    denied: ["10.231.0.5 . 0.0.0.0/0"],
  });
});

test("a change names only what comes and goes, and what goes first", () => {
  const before = egressElements(ip, { internet: false, allow: ["8.8.8.8", "9.9.9.9"], deny: [] });
  const after = egressElements(ip, { internet: true, allow: ["9.9.9.9", "1.1.1.1"], deny: ["2.2.0.0/16"] });
  expect(egressChange("abx1", before, after)).toBe(
    [
      "delete element inet abx1 offline { 10.231.0.5 }",
      "delete element inet abx1 allowed { 10.231.0.5 . 8.8.8.8/32 }",
      "add element inet abx1 allowed { 10.231.0.5 . 1.1.1.1/32 }",
      "add element inet abx1 denied { 10.231.0.5 . 2.2.0.0/16 }",
      "",
    ].join("\n"),
  );
});

test("no change is no text at all", () => {
  const same = egressElements(ip, { internet: false, allow: ["8.8.8.8"], deny: [] });
  expect(egressChange("abx1", same, same)).toBeUndefined();
});
