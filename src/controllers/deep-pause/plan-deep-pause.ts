/** What is to be done about the deep pause of one sandbox: pure. */
import type { Checkpoint } from "#model/checkpoint.ts";
import { isClaimed, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { isOfPause, lostStartOrder, resumedFrom } from "#model/deep-pause.ts";
import { parseDuration } from "#model/duration.ts";
import { annotationKeys } from "#model/keys.ts";
import { isFrozen, pauseWish } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { parseTime } from "#sandbox/annotation-values.ts";

export interface PausedFacts {
  readonly pool: SandboxPool | undefined;
  /** All of this sandbox, of whatever purpose. */
  readonly checkpoints: readonly Checkpoint[];
  /** Whether the pod's node can take checkpoints. */
  readonly able: boolean;
  /** A create waits for a pod of the pool, and of its paused sandboxes this one is the next. */
  readonly isNeeded: boolean;
  readonly now: number;
}

export type DeepPausePlan =
  | { readonly kind: "nothing" }
  | { readonly kind: "look-again"; readonly afterMs: number }
  /** A checkpoint is to be taken. */
  | { readonly kind: "begin" }
  /** The checkpoint is there: the pod is given back. */
  | { readonly kind: "release"; readonly checkpoint: Checkpoint }
  /** The sandbox keeps its pod; `checkpoint` goes. */
  | { readonly kind: "fail"; readonly message: string; readonly checkpoint?: Checkpoint };

/** What failed once may not fail for good: a disk has room again. */
const retryMs = 10 * 60_000;
/** A checkpoint that someone waits for goes before. */
const othersMs = 500;

export function planDeepPause(pod: Pod, facts: PausedFacts): DeepPausePlan {
  if (!isPausedInPlace(pod) || !facts.able) return { kind: "nothing" };
  const due = dueMs(pod, facts);
  if (due === undefined) return { kind: "nothing" };
  if (facts.now < due) return { kind: "look-again", afterMs: due - facts.now };
  if (pod.metadata.annotations?.[annotationKeys.startOrder] === lostStartOrder) {
    return { kind: "fail", message: "its variables are too long to be kept for a start from a checkpoint" };
  }
  return nextStep(pod, facts);
}

function nextStep(pod: Pod, facts: PausedFacts): DeepPausePlan {
  const own = facts.checkpoints.find((checkpoint) => isOfPause(checkpoint, pod) && checkpoint.metadata.deletionTimestamp === undefined);
  if (own === undefined) return { kind: "begin" };
  const { phase, message = "" } = own.status ?? {};
  if (phase === "Failed") return { kind: "fail", message, checkpoint: own };
  if (phase !== "Succeeded") return { kind: "nothing" };
  return facts.checkpoints.some(isUnderWay) ? { kind: "look-again", afterMs: othersMs } : { kind: "release", checkpoint: own };
}

/** Frozen, with its memory, and the pod's own. */
export function isPausedInPlace(pod: Pod): boolean {
  return (
    isClaimed(pod) &&
    sandboxPhaseOf(pod) === "running" &&
    pod.metadata.deletionTimestamp === undefined &&
    pauseWish(pod) !== undefined &&
    isFrozen(pod) &&
    sandboxIdOf(pod) !== undefined &&
    resumedFrom(pod) === undefined
  );
}

/** Undefined: as things stand it keeps its pod. */
function dueMs(pod: Pod, { pool, isNeeded }: PausedFacts): number | undefined {
  const { annotations = {} } = pod.metadata;
  if (annotations[annotationKeys.pauseDeep] === "true") return 0;
  const since = parseTime(pauseWish(pod)) ?? 0;
  const { after } = pool?.spec.deepPause ?? {};
  const times = [...(after === undefined ? [] : [since + parseDuration(after)]), ...(isNeeded ? [since] : [])];
  if (times.length === 0) return undefined;
  const failed = parseTime(annotations[annotationKeys.deepPauseFailure]?.split(" ", 1)[0]);
  return Math.max(Math.min(...times), failed === undefined ? 0 : failed + retryMs);
}

function isUnderWay({ metadata, status: { phase = "Pending" } = {} }: Checkpoint): boolean {
  return metadata.deletionTimestamp === undefined && (phase === "Pending" || phase === "Creating");
}
