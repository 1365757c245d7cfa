import { expect, test } from "vitest";
import type { Lease } from "#model/core-kinds.ts";
import { LeaseObserver } from "./lease-observer.ts";

const lease = (version: number, holderIdentity: string | undefined, leaseDurationSeconds?: number): Lease => ({
  metadata: { name: "controllers", uid: "u1", resourceVersion: String(version) },
  spec: {
    ...(holderIdentity === undefined ? {} : { holderIdentity }),
    ...(leaseDurationSeconds === undefined ? {} : { leaseDurationSeconds }),
  },
});

const observer = (): LeaseObserver => new LeaseObserver("me", 15_000);

test("a lease that nobody has looked at may not be taken", () => {
  expect(observer().takeableInMs(0)).toBe(Number.POSITIVE_INFINITY);
});

test.each([
  ["is not there", undefined],
  ["has no holder", lease(1, undefined)],
  ["was given back", lease(1, "")],
  ["is in our own name", lease(1, "me", 15)],
])("a lease that %s may be taken at once", (_what, seen) => {
  const seeing = observer();
  seeing.observe(seen, 100);
  expect(seeing.takeableInMs(100)).toBe(0);
});

test("a held lease may be taken when it has not changed for its duration since we saw it first", () => {
  const seeing = observer();
  seeing.observe(lease(1, "other", 10), 1000);
  seeing.observe(lease(1, "other", 10), 5000);
  expect(seeing.takeableInMs(5000)).toBe(6000);
  seeing.observe(lease(2, "other", 10), 9000);
  expect(seeing.takeableInMs(11_000)).toBe(8000);
  expect(seeing.takeableInMs(19_000)).toBe(0);
});

test("any change counts as life, whatever time its holder wrote into it", () => {
  const seeing = observer();
  const ancient = { ...lease(7, "other", 10).spec, renewTime: "1999-01-01T00:00:00.000000Z" };
  seeing.observe({ ...lease(7, "other", 10), spec: ancient }, 0);
  expect(seeing.takeableInMs(0)).toBe(10_000);
});

test("a holder that wrote no duration is given our own", () => {
  const seeing = observer();
  seeing.observe(lease(1, "other"), 0);
  expect(seeing.takeableInMs(0)).toBe(15_000);
});

test("a lease of the same name and version but another uid is another lease", () => {
  const seeing = observer();
  seeing.observe(lease(1, "other", 10), 0);
  seeing.observe({ ...lease(1, "other", 10), metadata: { name: "controllers", uid: "u2", resourceVersion: "1" } }, 9000);
  expect(seeing.takeableInMs(10_000)).toBe(9000);
});

test("a held lease that vanishes is waited for like one that changed", () => {
  const seeing = observer();
  seeing.observe(lease(1, "other", 10), 0);
  seeing.observe(undefined, 4000);
  seeing.observe(undefined, 6000);
  expect(seeing.takeableInMs(6000)).toBe(8000);
  expect(seeing.takeableInMs(14_000)).toBe(0);
});
