import { describe, expect, test } from "vitest";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { Expectations, expectationsTtlMs } from "./expectations.ts";
import type { Key } from "./key.ts";

const pool: Key = { namespace: "team", name: "py" };
const other: Key = { namespace: "team", name: "js" };

describe("the original's rules", () => {
  test("an owner of whom nothing is known is satisfied", () => {
    expect(new Expectations(new SteppedClock()).satisfied(pool)).toBe(true);
  });

  test("raised creations hold until each is observed", () => {
    const expectations = new Expectations(new SteppedClock());
    expectations.expectCreations(pool, ["a", "b"]);
    expect(expectations.satisfied(pool)).toBe(false);
    expectations.creationObserved(pool, "a");
    expect(expectations.satisfied(pool)).toBe(false);
    expectations.creationObserved(pool, "b");
    expect(expectations.satisfied(pool)).toBe(true);
  });

  test("raised deletions hold until each is observed", () => {
    const expectations = new Expectations(new SteppedClock());
    expectations.expectDeletions(pool, ["u1"]);
    expect(expectations.satisfied(pool)).toBe(false);
    expectations.deletionObserved(pool, "u1");
    expect(expectations.satisfied(pool)).toBe(true);
  });

  test("raising one kind leaves the other", () => {
    const expectations = new Expectations(new SteppedClock());
    expectations.expectCreations(pool, ["a"]);
    expectations.expectDeletions(pool, ["u1"]);
    expectations.creationObserved(pool, "a");
    expect(expectations.satisfied(pool)).toBe(false);
    expectations.expectCreations(pool, ["b"]);
    expectations.deletionObserved(pool, "u1");
    expect(expectations.satisfied(pool)).toBe(false);
    expectations.creationObserved(pool, "b");
    expect(expectations.satisfied(pool)).toBe(true);
  });

  test("observing what nobody waits for does nothing, not even for later", () => {
    const expectations = new Expectations(new SteppedClock());
    expectations.creationObserved(pool, "a");
    expectations.deletionObserved(pool, "u1");
    expectations.expectCreations(pool, ["a"]);
    expectations.expectDeletions(pool, ["u1"]);
    expect(expectations.satisfied(pool)).toBe(false);
  });

  test("an entry older than five minutes is dropped and no longer holds", async () => {
    const clock = new SteppedClock();
    const expectations = new Expectations(clock);
    expectations.expectCreations(pool, ["a"]);
    await clock.step(5 * 60_000);
    expect(expectations.satisfied(pool)).toBe(false);
    await clock.step(1);
    expect(expectations.satisfied(pool)).toBe(true);
    expectations.expectDeletions(pool, []);
    expect(expectations.satisfied(pool)).toBe(true);
  });

  test.each(["expectCreations", "expectDeletions"] as const)("%s renews the age of the whole entry", async (raise) => {
    const clock = new SteppedClock();
    const expectations = new Expectations(clock);
    expectations.expectCreations(pool, ["a"]);
    await clock.step(expectationsTtlMs);
    expectations[raise](pool, ["later"]);
    await clock.step(expectationsTtlMs);
    expect(expectations.satisfied(pool)).toBe(false);
    await clock.step(1);
    expect(expectations.satisfied(pool)).toBe(true);
  });

  test("a forgotten owner is satisfied, and pools do not touch each other", () => {
    const expectations = new Expectations(new SteppedClock());
    expectations.expectCreations(pool, ["a"]);
    expectations.expectCreations(other, ["a"]);
    expectations.creationObserved(other, "a");
    expect([expectations.satisfied(pool), expectations.satisfied(other)]).toEqual([false, true]);
    expectations.forget(pool);
    expect(expectations.satisfied(pool)).toBe(true);
  });
});

describe("where we are stricter", () => {
  test("a failed create or delete takes back its own expectation and no other", () => {
    const expectations = new Expectations(new SteppedClock());
    expectations.expectCreations(pool, ["a", "b"]);
    expectations.expectDeletions(pool, ["u1", "u2"]);
    expectations.creationFailed(pool, "a");
    expectations.deletionFailed(pool, "u1");
    expectations.creationObserved(pool, "a");
    expect(expectations.satisfied(pool)).toBe(false);
    expectations.creationObserved(pool, "b");
    expectations.deletionObserved(pool, "u2");
    expect(expectations.satisfied(pool)).toBe(true);
  });

  test("a second batch does not hide that the first is still unseen", () => {
    const expectations = new Expectations(new SteppedClock());
    expectations.expectCreations(pool, ["a", "b"]);
    expectations.expectCreations(pool, ["c"]);
    expectations.creationObserved(pool, "a");
    expect(expectations.satisfied(pool)).toBe(false);
    expectations.creationObserved(pool, "c");
    expect(expectations.satisfied(pool)).toBe(false);
    expectations.creationObserved(pool, "b");
    expect(expectations.satisfied(pool)).toBe(true);
  });

  test("a doubled event and a foreign pod lower nothing", () => {
    const expectations = new Expectations(new SteppedClock());
    expectations.expectCreations(pool, ["a", "b"]);
    expectations.expectDeletions(pool, ["u1"]);
    for (const name of ["a", "a", "foreign"]) expectations.creationObserved(pool, name);
    expectations.deletionObserved(pool, "u2");
    expect(expectations.satisfied(pool)).toBe(false);
  });

  test.each(["expectCreations", "expectDeletions"] as const)(
    "raising again and again does not keep one lost event of %s alive for ever",
    async (raise) => {
      const clock = new SteppedClock();
      const expectations = new Expectations(clock);
      expectations[raise](pool, ["lost"]);
      for (let minute = 0; minute < 6; minute++) {
        await clock.step(60_000);
        expectations.expectCreations(pool, [`pod-${minute}`]);
        expectations.creationObserved(pool, `pod-${minute}`);
      }
      expect(expectations.satisfied(pool)).toBe(true);
    },
  );
});
