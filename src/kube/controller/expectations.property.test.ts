import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Clock } from "#lib/clock.ts";
import { Expectations, expectationsTtlMs } from "./expectations.ts";
import type { Key } from "./key.ts";

const pool: Key = { namespace: "team", name: "py" };

class MovedClock implements Clock {
  time = 0;
  now(): number {
    return this.time;
  }
  after(): never {
    throw new Error("expectations set no timers");
  }
}

/** The original, word for word: two counts and a time. */
class CountedExpectations {
  entry: { creations: number; deletions: number; at: number } | undefined;

  raise(kind: "creations" | "deletions", count: number, now: number): void {
    this.entry = { creations: 0, deletions: 0, ...this.entry, [kind]: count, at: now };
  }

  lower(kind: "creations" | "deletions"): void {
    if (this.entry !== undefined) this.entry[kind] = Math.max(0, this.entry[kind] - 1);
  }

  satisfied(now: number): boolean {
    if (this.entry !== undefined && now - this.entry.at > expectationsTtlMs) this.entry = undefined;
    return this.entry === undefined || (this.entry.creations === 0 && this.entry.deletions === 0);
  }
}

const step = fc.oneof(
  fc.record({ kind: fc.constant("raise" as const), creations: fc.nat(3), deletions: fc.nat(3) }),
  fc.record({ kind: fc.constant("see" as const), of: fc.constantFrom("creations" as const, "deletions" as const), which: fc.nat(10) }),
  fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: expectationsTtlMs }) }),
);

test("raised only when satisfied, and each event told once, it answers as the original does", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const clock = new MovedClock();
      const ours = new Expectations(clock);
      const original = new CountedExpectations();
      const unseen = { creations: [] as string[], deletions: [] as string[] };
      let last = 0;
      const newIds = (count: number): string[] => Array.from({ length: count }, () => `id-${last++}`);
      for (const one of steps) {
        if (one.kind === "wait") clock.time += one.ms;
        else if (one.kind === "see") {
          const [id] = unseen[one.of].splice(one.which % Math.max(1, unseen[one.of].length), 1);
          if (id === undefined) continue;
          original.lower(one.of);
          if (one.of === "creations") ours.creationObserved(pool, id);
          else ours.deletionObserved(pool, id);
        } else if (ours.satisfied(pool)) {
          unseen.creations = newIds(one.creations);
          unseen.deletions = newIds(one.deletions);
          ours.expectCreations(pool, unseen.creations);
          ours.expectDeletions(pool, unseen.deletions);
          original.raise("creations", one.creations, clock.time);
          original.raise("deletions", one.deletions, clock.time);
        }
        expect(ours.satisfied(pool)).toBe(original.satisfied(clock.time));
      }
    }),
    { numRuns: 500 },
  );
});

function tell(ours: Expectations, event: { delete: boolean; outcome: string; id: string }): void {
  if (event.outcome === "failed") {
    if (event.delete) ours.deletionFailed(pool, event.id);
    else ours.creationFailed(pool, event.id);
  } else if (event.delete) ours.deletionObserved(pool, event.id);
  else ours.creationObserved(pool, event.id);
}

const call = fc.record({
  delete: fc.boolean(),
  outcome: fc.constantFrom("seen", "seen twice", "failed", "open"),
});

test("however batches overlap and events are doubled or out of order, it is satisfied exactly when every call was seen or failed (I6, I10)", () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(call, { maxLength: 5 }), { maxLength: 5 }),
      fc.infiniteStream(fc.nat()),
      fc.nat(50),
      (batches, order, foreign) => {
        const ours = new Expectations(new MovedClock());
        const calls = batches.flatMap((batch, b) => batch.map((one, i) => ({ ...one, id: `${b}-${i}` })));
        for (const [b, batch] of batches.entries()) {
          const ids = (deletes: boolean): string[] => batch.flatMap((one, i) => (one.delete === deletes ? [`${b}-${i}`] : []));
          ours.expectCreations(pool, ids(false));
          ours.expectDeletions(pool, ids(true));
        }
        const events = [
          ...calls.flatMap((one) => (one.outcome === "seen twice" ? [one, one] : one.outcome === "open" ? [] : [one])),
          ...Array.from({ length: foreign }, (_, i) => ({ delete: i % 2 === 0, outcome: "seen", id: `foreign-${i}` })),
        ];
        const open = new Set(calls.map((one) => one.id));
        while (events.length > 0) {
          expect(ours.satisfied(pool)).toBe(open.size === 0);
          const [event] = events.splice((order.next().value ?? 0) % events.length, 1);
          if (event === undefined) break;
          tell(ours, event);
          open.delete(event.id);
        }
        expect(ours.satisfied(pool)).toBe(open.size === 0);
      },
    ),
    { numRuns: 500 },
  );
});
