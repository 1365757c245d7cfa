/**
 * A deep pause: the paused sandbox becomes a checkpoint, and gives back its pod. It keeps its id, and is live like any other paused sandbox; what it was
 * stands in the checkpoint. At every moment one object has the sandbox (ADR 94):
 *
 * 1. The checkpoint is taken from the frozen pod. The pod has the sandbox; the checkpoint is only a copy.
 * 2. One conditional write ends the pod's use and names the checkpoint (annotation deep-paused). From here on the checkpoint has the sandbox.
 *    `status.holdsSandbox` is written before the pod forgets it, as records are.
 * 3. A resume claims another pod for the same id (annotation resumed-from). If it does not get to a running sandbox, the pod is given back, and the
 *    checkpoint has the sandbox as before.
 * 4. When the sandbox runs the annotation goes; then the pod has the sandbox, and the checkpoint is deleted.
 */
import type { Checkpoint } from "./checkpoint.ts";
import { sandboxPhaseOf } from "./claimed-pod.ts";
import { annotationKeys, labelKeys } from "./keys.ts";
import { pauseWish } from "./pause.ts";
import type { Container, Pod } from "./pod.ts";

/** The value of labelKeys.checkpointPurpose. */
export const pausePurpose = "pause";

/** What is left of a pod. */
interface PausedSandbox {
  /** The pause that the checkpoint was taken for. */
  readonly wish: string;
  readonly pod: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly containers: readonly Pick<Container, "name" | "image" | "resources">[];
}

/** The value of annotation start-order of a sandbox that was given more than an annotation holds: it cannot be started from a checkpoint. */
export const lostStartOrder = "too-long";

/** Says something of the pod, and nothing of its sandbox. */
const ofThePod: ReadonlySet<string> = new Set([
  annotationKeys.inplaceUpdateState,
  annotationKeys.sandboxStatusDetail,
  annotationKeys.useCount,
  annotationKeys.templateHash,
  annotationKeys.replicaQuota,
  annotationKeys.deepPauseFailure,
  annotationKeys.pauseDeep,
]);

export function isPauseCheckpoint({ metadata: { labels }, spec }: Checkpoint): boolean {
  return labels?.[labelKeys.checkpointPurpose] === pausePurpose && spec.pausedSandbox !== undefined;
}

export function pausedSandboxText({ metadata: { name = "", labels = {}, annotations = {} }, spec }: Pod): string {
  const sandbox: PausedSandbox = {
    wish: annotations[annotationKeys.paused] ?? "",
    pod: name,
    labels: Object.fromEntries(Object.entries(labels).filter(([key]) => key !== labelKeys.sandboxPhase)),
    annotations: Object.fromEntries(Object.entries(annotations).filter(([key]) => !ofThePod.has(key))),
    containers: spec.containers.map(({ name: container, image, resources }) => ({
      name: container,
      ...(image === undefined ? {} : { image }),
      ...(resources === undefined ? {} : { resources }),
    })),
  };
  return JSON.stringify(sandbox);
}

/** The sandbox as a pod that has no phase: what reads sandboxes can read it, and nothing takes it for one that runs. Undefined for any other checkpoint. */
export function deepPausedPod(checkpoint: Checkpoint): Pod | undefined {
  const { namespace = "", name = "", uid = "", creationTimestamp = "" } = checkpoint.metadata;
  const sandbox = isPauseCheckpoint(checkpoint) ? pausedIn(checkpoint) : undefined;
  if (sandbox === undefined) return undefined;
  return {
    metadata: {
      namespace,
      name,
      uid,
      creationTimestamp,
      labels: { ...sandbox.labels },
      annotations: { ...sandbox.annotations, [annotationKeys.deepPaused]: name },
    },
    spec: { containers: [...sandbox.containers] },
  };
}

/** What `deepPausedPod` made. */
export function isDeepPaused(pod: Pick<Pod, "metadata">): boolean {
  return pod.metadata.annotations?.[annotationKeys.deepPaused] !== undefined && sandboxPhaseOf(pod) === undefined;
}

/** The checkpoint is of the pause that the pod is in. */
export function isOfPause(checkpoint: Checkpoint, pod: Pod): boolean {
  const wish = pauseWish(pod);
  return wish !== undefined && isPauseCheckpoint(checkpoint) && pausedIn(checkpoint)?.wish === wish;
}

/** The name of the pod that it was on. */
export function podBefore(checkpoint: Checkpoint): string | undefined {
  return pausedIn(checkpoint)?.pod;
}

/** Until the sandbox runs, it is still the checkpoint's. */
export function resumedFrom(pod: Pick<Pod, "metadata">): string | undefined {
  return pod.metadata.annotations?.[annotationKeys.resumedFrom];
}

const parsed = new WeakMap<Checkpoint, PausedSandbox>();

function pausedIn(checkpoint: Checkpoint): PausedSandbox | undefined {
  const known = parsed.get(checkpoint);
  if (known !== undefined) return known;
  try {
    const sandbox = JSON.parse(checkpoint.spec.pausedSandbox ?? "") as PausedSandbox;
    // An object that a person has written by hand may be anything.
    if (typeof sandbox.labels !== "object" || typeof sandbox.annotations !== "object" || !Array.isArray(sandbox.containers))
      return undefined;
    parsed.set(checkpoint, sandbox);
    return sandbox;
  } catch {
    return undefined;
  }
}
