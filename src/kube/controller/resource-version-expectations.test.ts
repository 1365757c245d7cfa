import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ApiObject } from "#model/meta.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { ResourceVersionExpectations, versionTtlMs } from "./resource-version-expectations.ts";

const pod = (resourceVersion: number | string, uid = "u1"): ApiObject => ({
  metadata: { name: "p1", uid, resourceVersion: String(resourceVersion) },
});

test("a copy older than our own write is not acted upon, that write or anything newer is", () => {
  const expectations = new ResourceVersionExpectations(new SteppedClock());
  expect(expectations.satisfied(pod(5))).toBe(true);
  expectations.expect(pod(10));
  expect([9, 10, 11].map((version) => expectations.satisfied(pod(version)))).toEqual([false, true, true]);
});

test("an old copy that somebody still holds is refused after others have seen the new one", () => {
  const expectations = new ResourceVersionExpectations(new SteppedClock());
  expectations.expect(pod(10));
  expect(expectations.satisfied(pod(12))).toBe(true);
  expect(expectations.satisfied(pod(9))).toBe(false);
});

test("versions are compared as numbers of any length", () => {
  const expectations = new ResourceVersionExpectations(new SteppedClock());
  expectations.expect(pod("100000000000000000001"));
  expect(expectations.satisfied(pod("99999999999999999999"))).toBe(false);
  expect(expectations.satisfied(pod("100000000000000000002"))).toBe(true);
});

test("another object, even of the same name, is not held to it", () => {
  const expectations = new ResourceVersionExpectations(new SteppedClock());
  expectations.expect(pod(10, "old"));
  expect(expectations.satisfied(pod(9, "new"))).toBe(true);
});

test("a forgotten object is held to nothing", () => {
  const expectations = new ResourceVersionExpectations(new SteppedClock());
  expectations.expect(pod(10));
  expectations.forget("u1");
  expect(expectations.satisfied(pod(9))).toBe(true);
});

test("a watch that never comes does not stand in the way for ever", async () => {
  const clock = new SteppedClock();
  const expectations = new ResourceVersionExpectations(clock);
  expectations.expect(pod(10));
  await clock.step(versionTtlMs);
  expect(expectations.satisfied(pod(9))).toBe(false);
  await clock.step(1);
  expect(expectations.satisfied(pod(9))).toBe(true);
});

test("an object that no server gave is refused with its name", () => {
  const expectations = new ResourceVersionExpectations(new SteppedClock());
  expect(() => expectations.expect({ kind: "Pod", metadata: { name: "p1" } })).toThrow("Pod p1 has no uid or resourceVersion");
});

test("whatever the order in which answers arrive, the newest write counts", () => {
  fc.assert(
    fc.property(
      fc.array(fc.bigInt({ min: 1n, max: 10n ** 25n }), { minLength: 1 }),
      fc.bigInt({ min: 1n, max: 10n ** 25n }),
      (written, cached) => {
        const expectations = new ResourceVersionExpectations(new SteppedClock());
        for (const version of written) expectations.expect(pod(String(version)));
        const newest = written.reduce((a, b) => (a > b ? a : b));
        expect(expectations.satisfied(pod(String(cached)))).toBe(cached >= newest);
      },
    ),
  );
});
