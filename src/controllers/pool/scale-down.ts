/** Carries out a plan to scale down: marks, takes marks away, and deletes what has been marked for long enough. */
import { Limiter } from "#lib/limiter.ts";
import { patchPodAsSeen } from "#lifecycle/patch-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { formatTime } from "#sandbox/annotation-values.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import { planScaleDown } from "./plan-scale-down.ts";
import type { PodNote } from "./pod-note.ts";
import { keyOf, type PoolTools } from "./pool-deps.ts";
import { removePods } from "./remove-pods.ts";

/** Also when nothing is too much: marks from before are then taken away. Resolves with when to look again. */
export async function scaleDown(tools: PoolTools, pool: SandboxPool, surplus: number, signal: AbortSignal): Promise<number | undefined> {
  const key = keyOf(pool);
  const { ready, unready, marked } = tools.ledger.of(key);
  if (surplus <= 0 && marked.size === 0) return undefined;
  const plan = planScaleDown({
    surplus: Math.min(surplus, tools.pace.removalsAtOnce),
    unready: unready.oldestFirst(),
    ready: ready.oldestFirst(),
    marked: marked.values(),
    windowMs: tools.protectionWindowMs(pool),
    now: tools.clock.now(),
  });
  await setMarks(tools, plan.mark, formatTime(tools.clock.now()), signal);
  await setMarks(tools, plan.unmark, undefined, signal);
  await removePods(tools, key, plan.remove, signal);
  return plan.againInMs;
}

/** One write each, on the state that was seen: a pod that has been claimed since is not marked. */
async function setMarks(tools: PoolTools, notes: readonly PodNote[], mark: string | undefined, signal: AbortSignal): Promise<void> {
  const key = annotationKeys.scaleDownProtected;
  const change = mark === undefined ? { removeAnnotations: [key] } : { annotations: { [key]: mark } };
  const limiter = new Limiter(tools.creationsAtOnce);
  await Promise.all(notes.map(({ pod }) => limiter.run(() => patchPodAsSeen(tools, pod, podPatch(pod, change), signal))));
}
