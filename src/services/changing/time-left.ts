/** How much time a paused sandbox has when it runs again. */
import { annotationKeys } from "#model/keys.ts";
import { pauseWish } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";
import { parseSeconds, parseTime } from "#sandbox/annotation-values.ts";

export const leastAfterResumeMs = 5 * 60_000;

/** Undefined: it has no end. */
export function timeLeft(pod: Pod, now: number): number | undefined {
  const end = parseTime(pod.metadata.annotations?.[annotationKeys.endTime]);
  if (end === undefined) return undefined;
  // Traffic that wakes a sandbox says nothing about time: it is given what the sandbox was made with.
  const made = parseSeconds(pod.metadata.annotations?.[annotationKeys.lifetime]) ?? 0;
  return Math.max(end - (parseTime(pauseWish(pod)) ?? now), made, leastAfterResumeMs);
}
