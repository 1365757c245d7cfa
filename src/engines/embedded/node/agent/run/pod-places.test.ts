import { expect, test } from "vitest";
import { labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { ownerOf, podPlaces } from "./pod-places.ts";

const aPod = (labels: Record<string, string>, deletionTimestamp?: string): Pod =>
  ({ metadata: { namespace: "default", name: "p", labels, deletionTimestamp } }) as unknown as Pod;

test("a pod belongs to its team, or its pool's, or its pool, or to itself", () => {
  const teamOfPool = ({ name }: { name: string }): string | undefined => (name === "py" ? "red" : undefined);
  expect(ownerOf(aPod({ [labelKeys.team]: "blue", [labelKeys.sandboxPool]: "py" }), teamOfPool)).toBe("team blue");
  expect(ownerOf(aPod({ [labelKeys.sandboxPool]: "py" }), teamOfPool)).toBe("team red");
  expect(ownerOf(aPod({ [labelKeys.sandboxPool]: "go" }), teamOfPool)).toBe("pool default/go");
  expect(ownerOf(aPod({}), teamOfPool)).toBe("pod default/p");
  expect(ownerOf(undefined)).toBe("objects that are gone");
});

test("an owner never has all places, and removals have places of their own", () => {
  const [all, own] = podPlaces(aPod({ [labelKeys.sandboxPool]: "py" }));
  expect(own?.most).toBeLessThan(all?.most ?? 0);
  const names = [aPod({}), aPod({}, "2026-01-01T00:00:00Z"), undefined].map((pod) => podPlaces(pod).map(({ name }) => name));
  expect(names[0]?.[0]).toBe("starts");
  expect([names[1]?.[0], names[2]?.[0]]).toEqual(["removals", "removals"]);
  expect(new Set(names.map((both) => both[1])).size).toBe(3);
});
