/**
 * The end of a use: every container is new, the sandbox's record is in the history, and the write that makes the pod idle takes away
 * all that was the sandbox's (I2). Of AgentBox's own keys only those that a new pod has are kept, so that a key which a later version
 * adds to claims is wiped as well; of all others those that the claim noted.
 */
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, isReservedKey, labelKeys } from "#model/keys.ts";
import type { JsonPatch } from "#model/patch.ts";
import type { Pod } from "#model/pod.ts";
import { formatTime, parseStringList } from "#sandbox/annotation-values.ts";
import { completionOf } from "#sandbox/images/inplace-completion.ts";
import { type InplaceUpdateState, serializeInplaceUpdateState } from "#sandbox/images/inplace-state.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import { nextUse } from "./plan-fate.ts";

export interface Recycling {
  /** The sandbox whose record has been written. Nothing is wiped before (I3, W9). */
  readonly recorded: string | undefined;
}

export type RecyclePlan =
  | { readonly kind: "patch"; readonly patch: JsonPatch }
  | { readonly kind: "waiting"; readonly why: string }
  /** Its content is unknown, so it can only be deleted. */
  | { readonly kind: "delete"; readonly why: string }
  /** The pod is not stopping. */
  | { readonly kind: "nothing" };

/** What a pod has from its first day on, and keeps. */
const keptLabels: ReadonlySet<string> = new Set([
  labelKeys.sandboxPool,
  labelKeys.sandboxPhase,
  labelKeys.managedBy,
  labelKeys.env,
  labelKeys.scalingGroup,
]);
const keptAnnotations: ReadonlySet<string> = new Set([
  annotationKeys.templateName,
  annotationKeys.templateVersion,
  annotationKeys.templateHash,
  annotationKeys.recyclePolicy,
  annotationKeys.maxUses,
  annotationKeys.runEntrypoint,
  annotationKeys.runtimeChecks,
  annotationKeys.replicaQuota,
]);

export function planRecycle(pod: Pod, { recorded }: Recycling, now: number): RecyclePlan {
  if (sandboxPhaseOf(pod) !== "stopping" || pod.metadata.deletionTimestamp !== undefined) return { kind: "nothing" };
  const completion = completionOf(pod);
  if (completion.kind === "waiting") return completion;
  if (completion.kind === "no-update") return { kind: "delete", why: "the pod does not say which images it goes back to" };
  if (sandboxIdOf(pod) !== recorded) return { kind: "waiting", why: "the sandbox's record is not written" };
  const added = addedKeys(pod);
  if (added === undefined) return { kind: "delete", why: "the pod does not say which labels and annotations were its user's" };
  const state: InplaceUpdateState = { phase: "completed", targetPodPhase: "idle", updateTimestamp: formatTime(now) };
  const patch = podPatch(pod, {
    phase: "idle",
    annotations: {
      [annotationKeys.inplaceUpdateState]: serializeInplaceUpdateState(state),
      [annotationKeys.useCount]: String(nextUse(pod)),
    },
    removeLabels: [...ours(pod.metadata.labels, keptLabels), ...added.labels],
    removeAnnotations: [...ours(pod.metadata.annotations, keptAnnotations), ...added.annotations],
  });
  return { kind: "patch", patch };
}

function ours(map: Readonly<Record<string, string>> | undefined, kept: ReadonlySet<string>): readonly string[] {
  return Object.keys(map ?? {}).filter((key) => isReservedKey(key) && !kept.has(key));
}

function addedKeys(pod: Pod): { readonly labels: readonly string[]; readonly annotations: readonly string[] } | undefined {
  const { annotations } = pod.metadata;
  const labels = parseStringList(annotations?.[annotationKeys.managedLabelKeys] ?? "[]");
  const added = parseStringList(annotations?.[annotationKeys.managedAnnotationKeys] ?? "[]");
  if (labels === undefined || added === undefined) return undefined;
  // A user's keys are never ours; a list that names one was not written by a claim.
  return { labels: labels.filter((key) => !isReservedKey(key)), annotations: added.filter((key) => !isReservedKey(key)) };
}
