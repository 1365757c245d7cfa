/** What becomes of the checkpoint of a pause: pure. Only what the server itself has said of the pods may lead to its end. */
import type { Checkpoint } from "#model/checkpoint.ts";
import { isClaimed } from "#model/claimed-pod.ts";
import { isOfPause, resumedFrom } from "#model/deep-pause.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";

export type PauseCheckpointPlan =
  | { readonly kind: "nothing" }
  /** Its owner has ended the sandbox that it has. */
  | { readonly kind: "record" }
  /** A pod carries the sandbox, and may be armed for it: its daemon says. */
  | { readonly kind: "ask"; readonly pod: Pod }
  /** A pod has the sandbox, or it has ended. */
  | { readonly kind: "give-up" };

/** `pods`: all that show the sandbox's id. */
export function planPauseCheckpoint(checkpoint: Checkpoint, pods: readonly Pod[]): PauseCheckpointPlan {
  const { metadata, status = {} } = checkpoint;
  if (metadata.deletionTimestamp !== undefined) return { kind: "nothing" };
  if (status.sandboxEnded !== undefined) return { kind: "record" };
  const claimed = pods.find(isClaimed);
  if (status.holdsSandbox === true) {
    if (claimed === undefined) return { kind: "nothing" };
    return resumedFrom(claimed) === undefined ? { kind: "give-up" } : { kind: "ask", pod: claimed };
  }
  // Its record is to say so first (life/record/deep-pauses.ts).
  if (pods.some((pod) => pod.metadata.annotations?.[annotationKeys.deepPaused] === metadata.name)) return { kind: "nothing" };
  return claimed !== undefined && isOfPause(checkpoint, claimed) ? { kind: "nothing" } : { kind: "give-up" };
}
