/** What is to be done about one checkpoint: pure. */
import type { CheckpointOrder } from "#engine-port/checkpoint-images.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { Checkpoint, CheckpointFailure, CheckpointStatus } from "#model/checkpoint.ts";
import { checkpointIdOf, checkpointIn } from "#model/checkpoint-image.ts";
import { poolOf, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { isPauseCheckpoint } from "#model/deep-pause.ts";
import { parseDuration } from "#model/duration.ts";
import { finalizers, labelKeys } from "#model/keys.ts";
import type { ApiObject } from "#model/meta.ts";
import type { Pod } from "#model/pod.ts";

export interface CheckpointFacts {
  /** The pod that carries the sandbox. */
  readonly pod: Pod | undefined;
  /** Why no checkpoint can be taken, if that is so. */
  readonly unable: string | undefined;
  /** Whether anything still names the image. */
  readonly isNamed: boolean;
  readonly now: number;
}

export type CheckpointPlan =
  | { readonly kind: "nothing" }
  | { readonly kind: "look-again"; readonly afterMs: number }
  /** Before anything is made that would have to be removed. */
  | { readonly kind: "hold" }
  | { readonly kind: "take"; readonly pod: Pod; readonly status: CheckpointStatus }
  | { readonly kind: "fail"; readonly reason: CheckpointFailure; readonly message: string }
  | { readonly kind: "end-sandbox"; readonly pod: Pod }
  | { readonly kind: "delete" }
  /** Its image, and then the object. */
  | { readonly kind: "remove" };

/** How often it is looked whether something still names the image of a checkpoint that is deleted. */
const namedEveryMs = 15_000;
const startingEveryMs = 500;

export function planCheckpoint(checkpoint: Checkpoint, facts: CheckpointFacts): CheckpointPlan {
  const { metadata, status = {} } = checkpoint;
  const isHeld = (metadata.finalizers ?? []).includes(finalizers.checkpointImage);
  if (metadata.deletionTimestamp !== undefined) {
    if (!isHeld) return { kind: "nothing" };
    return facts.isNamed ? { kind: "look-again", afterMs: namedEveryMs } : { kind: "remove" };
  }
  if (status.phase === "Succeeded" || status.phase === "Failed") return afterwards(checkpoint, facts);
  if (facts.unable !== undefined) return { kind: "fail", reason: "NotImplemented", message: facts.unable };
  if (!isHeld) return { kind: "hold" };
  return taking(checkpoint, facts);
}

function taking(checkpoint: Checkpoint, { pod }: CheckpointFacts): CheckpointPlan {
  const { sandboxID } = checkpoint.spec;
  if (pod === undefined || sandboxIdOf(pod) !== sandboxID || !isOfOwner(checkpoint, pod)) {
    return { kind: "fail", reason: "SandboxGone", message: `there is no live sandbox ${sandboxID}` };
  }
  const phase = sandboxPhaseOf(pod);
  if (phase === "starting") return { kind: "look-again", afterMs: startingEveryMs };
  if (phase !== "running") return { kind: "fail", reason: "SandboxGone", message: `sandbox ${sandboxID} has ended` };
  return { kind: "take", pod, status: begun(pod) };
}

/** A checkpoint that names an owner is of that owner's sandboxes alone: the image becomes the owner's. */
function isOfOwner(checkpoint: Checkpoint, pod: Pod): boolean {
  const team = teamOf(checkpoint);
  return team === "" || team === teamOf(pod);
}

/** Empty: none. */
function teamOf({ metadata: { labels } }: ApiObject): string {
  return labels?.[labelKeys.team] ?? "";
}

function begun(pod: Pod): CheckpointStatus {
  const [first] = pod.spec.containers;
  const env = pod.metadata.labels?.[labelKeys.env];
  const parent = checkpointIn(first?.image);
  return {
    baseImage: first?.image ?? "",
    source: { pool: poolOf(pod) ?? "", container: first?.name ?? "", ...(env === undefined ? {} : { env }) },
    ...(parent === undefined ? {} : { parent }),
  };
}

function afterwards(checkpoint: Checkpoint, { pod, now }: CheckpointFacts): CheckpointPlan {
  const { spec, status = {} } = checkpoint;
  // What becomes of these is decided with their sandbox: controllers/deep-pause.
  if (isPauseCheckpoint(checkpoint)) return { kind: "nothing" };
  const isOver = status.phase === "Succeeded" && spec.keepRunning === false;
  if (isOver && pod !== undefined && sandboxIdOf(pod) === spec.sandboxID && isOfOwner(checkpoint, pod)) return { kind: "end-sandbox", pod };
  const { ttlAfterFinished } = spec;
  const finished = Date.parse(status.completionTime ?? "");
  if (ttlAfterFinished === undefined || Number.isNaN(finished)) return { kind: "nothing" };
  const left = finished + parseDuration(ttlAfterFinished) - now;
  return left <= 0 ? { kind: "delete" } : { kind: "look-again", afterMs: left };
}

/** What the engine is to take; `checkpoint` says already of which container. */
export function orderFor(checkpoint: Checkpoint, pod: Pod): CheckpointOrder {
  const { spec, status = {} } = checkpoint;
  const { baseImage = "", source = {} } = status;
  const { uid = "", namespace = "", name = "" } = pod.metadata;
  const team = teamOf(checkpoint) || teamOf(pod);
  return {
    id: checkpointIdOf(checkpoint),
    pod: { uid, namespace, name },
    container: source.container ?? "",
    baseImage,
    ...withoutUndefined({ team: team === "" ? undefined : team, config: spec.config }),
  };
}
