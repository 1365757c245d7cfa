import { expect, test } from "vitest";
import type { Change } from "#client/changes.ts";
import type { Sandbox } from "#client/sandbox-types.ts";
import { applyChanges, knownOf } from "./apply-changes.ts";

const sandbox = (sandboxId: string, status: Sandbox["status"] = "Running"): Sandbox => ({ sandboxId, status }) as Sandbox;
const known = knownOf({ sandboxes: [sandbox("a"), sandbox("b")], pools: [], envs: [] });

test("a changed sandbox takes the place of the one before, and an ended one goes", () => {
  const changes: readonly Change[] = [
    { kind: "sandbox", sandbox: sandbox("a", "Paused") },
    { kind: "sandbox", sandbox: sandbox("c") },
    { kind: "sandbox-ended", sandboxId: "b" },
  ];
  const next = applyChanges(known, changes);
  expect([...next.sandboxes.values()].map(({ sandboxId, status }) => [sandboxId, status])).toEqual([
    ["a", "Paused"],
    ["c", "Running"],
  ]);
  expect(known.sandboxes.has("b")).toBe(true);
});

test("of several changes the last one counts", () => {
  const changes: readonly Change[] = [
    { kind: "sandbox", sandbox: sandbox("c") },
    { kind: "sandbox-ended", sandboxId: "c" },
  ];
  expect(applyChanges(known, changes).sandboxes.has("c")).toBe(false);
});

test("what nothing changes in stays the same object, so that nothing is drawn anew", () => {
  const next = applyChanges(known, [{ kind: "sandbox-ended", sandboxId: "unknown" }]);
  expect([next.sandboxes, next.pools]).toEqual([known.sandboxes, known.pools]);
  expect(next.sandboxes).toBe(known.sandboxes);
});
