import fc from "fast-check";
import { expect, test } from "vitest";
import { annotationKeys } from "#model/keys.ts";
import { aPoolPod } from "../../../test/world/pool-pods.ts";
import { planRefill } from "./size/plan-refill.ts";
import { planRollout } from "./roll-out/roll-out.ts";
import { planScaleDown } from "./size/plan-scale-down.ts";
import { noteOf, type PodNote } from "./pod-note.ts";
import { TimeOrder } from "./roll-out/time-order.ts";

const now = Date.parse("2026-01-01T01:00:00Z");
const windowMs = 10_000;

function aNote(name: string, idleMs: number, more: { markedMs?: number | undefined; ready?: boolean; hash?: string } = {}): PodNote {
  const mark = more.markedMs === undefined ? {} : { [annotationKeys.chosenToGo]: new Date(now - more.markedMs).toISOString() };
  const creationTimestamp = new Date(now - idleMs).toISOString();
  const annotations = { ...mark, [annotationKeys.templateHash]: more.hash ?? "new" };
  return noteOf(aPoolPod({ metadata: { name, uid: name, creationTimestamp, annotations }, ready: more.ready ?? true }));
}

const arbitraryNotes = fc
  .array(
    fc.record({
      idleMs: fc.integer({ min: 0, max: 3_000_000 }),
      markedMs: fc.option(fc.integer({ min: -5_000, max: 60_000 }), { nil: undefined }),
      ready: fc.boolean(),
      hash: fc.constantFrom("new", "old"),
    }),
    { maxLength: 30 },
  )
  .map((shapes) => shapes.map(({ idleMs, ...more }, index) => aNote(`pod-${index}`, idleMs, more)));

function orderOf(notes: readonly PodNote[]): TimeOrder<PodNote> {
  const order = new TimeOrder<PodNote>();
  for (const note of notes) order.set(note.name, note.idleSinceMs, note);
  return order;
}

function scaleDownOf(notes: readonly PodNote[], surplus: number) {
  return planScaleDown({
    surplus,
    unready: notes.filter(({ isReady }) => !isReady),
    ready: orderOf(notes.filter(({ isReady }) => isReady)).oldestFirst(),
    marked: notes.filter(({ marked }) => marked !== undefined),
    windowMs,
    now,
  });
}

test("scaling down never takes more than is too much, and no ready pod before its window is over", () => {
  fc.assert(
    fc.property(arbitraryNotes, fc.integer({ min: -5, max: 40 }), (notes, surplus) => {
      const { mark, unmark, remove } = scaleDownOf(notes, surplus);
      const before = notes.filter(({ marked, isReady }) => marked !== undefined && isReady);
      const stay = before.filter((note) => !unmark.includes(note) && !remove.includes(note));
      const chosen = new Set([...remove, ...stay, ...mark]);
      expect(chosen.size).toBe(Math.min(Math.max(0, surplus), notes.length));
      for (const note of remove.filter(({ isReady }) => isReady)) expect(now - (note.marked?.atMs ?? now)).toBeGreaterThanOrEqual(windowMs);
    }),
  );
});

test("W19: the longest idle pods are chosen, not the ones made first", () => {
  const state = { phase: "completed", targetPodPhase: "idle", updateTimestamp: new Date(now - 1_000).toISOString() };
  const annotations = { [annotationKeys.inplaceUpdateState]: JSON.stringify(state) };
  const recycled = noteOf(aPoolPod({ metadata: { name: "made-first", creationTimestamp: "2020-01-01T00:00:00Z", annotations } }));
  const { mark } = scaleDownOf([recycled, aNote("idle-longest", 50_000), aNote("young", 20_000)], 2);
  expect(mark.map(({ name }) => name)).toEqual(["idle-longest", "young"]);
});

test("marks that are no longer wanted are taken away", () => {
  const notes = [aNote("a", 1_000, { markedMs: 5_000 }), aNote("b", 1_000, { markedMs: 3_000 })];
  expect(scaleDownOf(notes, 1)).toMatchObject({ unmark: [notes[1]], mark: [], remove: [], againInMs: 5_000 });
  expect(scaleDownOf(notes, 0).unmark).toEqual(notes);
});

test("a rollout takes outdated pods only, and leaves all but its share of the idle pods ready", () => {
  fc.assert(
    fc.property(arbitraryNotes, fc.integer({ min: 0, max: 10 }), (notes, missing) => {
      const [ready, unready] = [true, false].map((wish) => notes.filter(({ isReady }) => isReady === wish)) as [PodNote[], PodNote[]];
      const gone = planRollout({ templateHash: "new", missing, ready: orderOf(ready), unready: orderOf(unready), maxUnavailable: 0.2 });
      expect(gone.every(({ templateHash }) => templateHash === "old")).toBe(true);
      const goneReady = gone.filter(({ isReady }) => isReady).length;
      const budget = Math.max(1, Math.floor((notes.length + missing) * 0.2));
      expect(goneReady === 0 || missing + unready.length + goneReady <= budget).toBe(true);
      expect(gone.filter(({ isReady }) => !isReady)).toHaveLength(unready.filter(({ templateHash }) => templateHash === "old").length);
    }),
  );
});

const pace = { yieldMs: 100, creationsBesideClaims: 4, maxCreations: 500, stockYieldMs: 5_000 };
const nothingHeld = { heldForMs: 0, urgent: undefined, stockHeldForMs: 0 };

test("refill yields to claims while there is something to claim, and to nobody when there is not", () => {
  const situation = { ...nothingHeld, missing: 50, ready: 3, claimsInFlight: 2 };
  expect(planRefill(situation, pace)).toEqual({ create: 0, againInMs: 100, yieldsTo: "claims" });
  expect(planRefill({ ...situation, heldForMs: 100 }, pace)).toEqual({ create: 4, againInMs: 100, yieldsTo: "claims" });
  expect(planRefill({ ...situation, ready: 0 }, pace)).toEqual({ create: 50, againInMs: undefined });
  expect(planRefill({ ...situation, claimsInFlight: 0 }, pace)).toEqual({ create: 50, againInMs: undefined });
});

test("pods that requests wait for are made at once, and others after them, or after a while", () => {
  const situation = { ...nothingHeld, missing: 50, ready: 0, claimsInFlight: 0 };
  expect(planRefill({ ...situation, urgent: 27 }, pace)).toEqual({ create: 27, againInMs: 5_000, yieldsTo: "waiting" });
  expect(planRefill({ ...situation, urgent: 0, stockHeldForMs: 4_000 }, pace)).toEqual({
    create: 0,
    againInMs: 1_000,
    yieldsTo: "waiting",
  });
  expect(planRefill({ ...situation, urgent: 0, stockHeldForMs: 5_000 }, pace)).toEqual({ create: 50, againInMs: undefined });
  expect(planRefill({ ...situation, urgent: 50 }, pace)).toEqual({ create: 50, againInMs: undefined });
  expect(planRefill(situation, pace)).toEqual({ create: 50, againInMs: undefined });
});

test("things come out by time however they went in, and each as it was last", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), fc.option(fc.integer({ min: 0, max: 99 }))), { maxLength: 200 }),
      (steps) => {
        const order = new TimeOrder<number>();
        const model = new Map<string, number>();
        for (const [name, time] of steps) {
          if (time === null) order.delete(`${name}`);
          else order.set(`${name}`, time, time);
          if (time === null) model.delete(`${name}`);
          else model.set(`${name}`, time);
        }
        expect([...order.oldestFirst()]).toEqual([...model.values()].sort((one, other) => one - other));
      },
    ),
  );
});
