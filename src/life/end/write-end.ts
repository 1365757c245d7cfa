/**
 * Ends a sandbox with one conditional write, for an API process or a loop. The plan is `plan-end.ts`; here it is sent, and decided anew
 * when the pod has changed meanwhile. What becomes of the pod is decided in `life/recycle`.
 */
import { ifFound } from "#kube/api-error.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Clock } from "#lib/clock.ts";
import { isResting } from "#model/claimed-pod.ts";
import { type Pod, Pods } from "#model/pod.ts";
import type { ContainerImages } from "#sandbox/images/images.ts";
import { planEnd, type SandboxEnd } from "./plan-end.ts";
import { planRecycleStart } from "#life/recycle/plan-recycle-start.ts";
import { type FateDeps, fateOfPod } from "#life/recycle/fate-of-pod.ts";
import { patchPodAsSeen } from "#life/patch-pod.ts";
import type { Resting } from "#life/recycle/resting.ts";

export interface EndDeps extends FateDeps {
  readonly client: ObjectClient;
  readonly clock: Clock;
  /** Left out: no pod rests, each gets its new containers with the write that ends its sandbox. */
  readonly resting?: Resting | undefined;
}

export type EndOutcome =
  | { readonly kind: "ended"; readonly pod: Pod }
  /** The sandbox has ended already (W1). */
  | { readonly kind: "already-ended" }
  /** The pod is gone, carries another sandbox, is not in the phase that was asked for, or not as it was seen. Nothing was written. */
  | { readonly kind: "not-there"; readonly why: string };

/** A pod changes only a few times in its life, so so many lost races mean a different problem. */
const maxTries = 8;

export interface WantedEnd extends Omit<SandboxEnd, "fate"> {
  /**
   * Only in exactly the state that was seen. For callers that end a sandbox because of that state: its owner may have given it more time since.
   */
  readonly asSeen?: boolean;
}

export async function endSandbox(
  deps: EndDeps,
  seen: Pod,
  { asSeen = false, ...end }: WantedEnd,
  signal: AbortSignal,
): Promise<EndOutcome> {
  let pod = seen;
  for (let attempt = 1; ; attempt++) {
    const { namespace, name = "" } = pod.metadata;
    try {
      return await endAsSeen(deps, pod, end, signal);
    } catch (error) {
      if (!isLostRace(error)) throw error;
      if (asSeen) return { kind: "not-there", why: `pod ${name} is no longer as it was seen` };
      if (attempt === maxTries) throw error;
    }
    const now = await ifFound(deps.cache.readPod(deps.client, { namespace, name }, signal));
    if (now === undefined) return { kind: "not-there", why: `pod ${name} is gone` };
    pod = now;
  }
}

/** Throws what a lost race is told by. */
async function endAsSeen(deps: EndDeps, pod: Pod, end: Omit<SandboxEnd, "fate">, signal: AbortSignal): Promise<EndOutcome> {
  const fate = await fateOfPod(deps, pod, signal);
  using rest = fate.kind === "recycle" ? deps.resting?.decide(pod) : undefined;
  const plan = planEnd(pod, { ...end, fate, rests: rest?.rests === true }, deps.clock.now());
  if (plan.kind === "already-ended") return plan;
  if (plan.kind === "refused") return { kind: "not-there", why: plan.message };
  const { namespace, name = "" } = pod.metadata;
  const ended = await deps.client.patch(Pods, { namespace, name }, plan.patch, { signal });
  deps.cache.pods.remember(ended);
  if (isResting(ended) && fate.kind === "recycle") await endProcessesOrRecycle(deps, ended, end.sandboxId, fate.images);
  return { kind: "ended", pod: ended };
}

/**
 * When this resolves, no process of the sandbox runs any more, or its container is being replaced. If this process dies in between, or its calls fail, the
 * recycle loop (life/recycle) does the rest.
 */
async function endProcessesOrRecycle(deps: EndDeps, pod: Pod, sandboxId: string, images: ContainerImages): Promise<void> {
  if (await deps.resting?.endProcesses(pod, sandboxId)) return;
  const patch = planRecycleStart(pod, images, deps.clock.now());
  if (patch === undefined) return;
  try {
    await patchPodAsSeen(deps, pod, patch);
  } catch (error) {
    const message = "the daemon of an ended sandbox did not end its processes, and its container could not be exchanged";
    deps.log.warn({ sandboxId, pod: pod.metadata.name, error }, message);
  }
}
