/** Containers that nothing needs any more: attempts that newer ones have replaced, and such that the pod does not name. */
import { type ContainerView, isRecorded } from "./container-view.ts";
import type { Move, Scene } from "./move.ts";

/** Cleaning up takes about as much of the machine as starting; it waits for the successor to be ready, but not for ever. */
const patienceMs = 5_000;

export function leftoversMove(scene: Scene): Move {
  const names = new Set(scene.views.map(({ spec }) => spec.name));
  const strangers = (scene.observed.runtime?.containers ?? []).filter(({ name }) => !names.has(name));
  const replaced = scene.views.filter((view) => view.older.length > 0 && isSuccessorRecorded(view));
  const due = replaced.filter((view) => patienceEnds(view) <= scene.now);
  const recheckAt = Math.min(...replaced.map((view) => patienceEnds(view)).filter((at) => at > scene.now));
  return {
    actions: [...due.flatMap(({ older }) => older), ...strangers].map(({ id }) => ({ kind: "remove-container", id })),
    ...(recheckAt === Infinity ? {} : { recheckAt }),
  };
}

/** The status that speaks of the successor also tells how the one before it ended (P3). */
function isSuccessorRecorded({ situation, stored }: ContainerView): boolean {
  if (situation.kind === "never") return false;
  return isRecorded(stored, situation.kind === "ended" ? situation.end.id : situation.container.id);
}

/** Ready, and reported so: whoever waits for the report comes first. */
function patienceEnds({ situation, stored }: ContainerView): number {
  if (situation.kind !== "running" || stored?.ready === true) return 0;
  return (situation.container.startedAt ?? 0) + patienceMs;
}
