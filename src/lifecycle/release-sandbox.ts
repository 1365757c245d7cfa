/**
 * Ends a sandbox with one conditional write, whoever asks for it: an API process or a controller. The plan is
 * `sandbox/release-patch.ts`; here it is sent, and decided anew when the pod has changed meanwhile.
 *
 * Beside it: `resting.ts` (pods that get their new containers later), `fate-of-pod.ts` (recycled or replaced), `pool-images.ts` (what a pool's
 * pods run), `recent-digests.ts` (asked for seldom), `record-end.ts` (the end of a sandbox, into the history), `patch-pod.ts` (one planned
 * write), `delete-pod.ts` (the end of a pod).
 */
import { isApiError } from "#kube/api-error.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Clock } from "#lib/clock.ts";
import { isResting } from "#model/claimed-pod.ts";
import { type Pod, Pods } from "#model/pod.ts";
import type { ContainerImages } from "#sandbox/images.ts";
import { planRelease, type Release } from "#sandbox/release-patch.ts";
import { planRenewal } from "#sandbox/renewal-patch.ts";
import { type FateDeps, fateOfPod } from "./fate-of-pod.ts";
import { patchPodAsSeen } from "./patch-pod.ts";
import type { Resting } from "./resting.ts";

export interface ReleaseDeps extends FateDeps {
  readonly client: ObjectClient;
  readonly clock: Clock;
  /** Left out: no pod rests, each gets its new containers with the write that ends its sandbox. */
  readonly resting?: Resting | undefined;
}

export type ReleaseOutcome =
  | { readonly kind: "released"; readonly pod: Pod }
  /** Somebody was first (W1). */
  | { readonly kind: "already-stopping" }
  /** The pod is gone, carries another sandbox, is not in the phase that was asked for, or not as it was seen. Nothing was written. */
  | { readonly kind: "not-there"; readonly why: string };

/** A pod changes a few times in its life, so somebody who loses this often has met something else. */
const maxTries = 8;

export interface WantedRelease extends Omit<Release, "fate"> {
  /**
   * Only in the very state that was seen. For whoever ends a sandbox because of that state: its owner may have given it more time since.
   */
  readonly asSeen?: boolean;
}

export async function releaseSandbox(
  deps: ReleaseDeps,
  seen: Pod,
  { asSeen = false, ...release }: WantedRelease,
  signal: AbortSignal,
): Promise<ReleaseOutcome> {
  let pod = seen;
  for (let attempt = 1; ; attempt++) {
    const { namespace, name = "" } = pod.metadata;
    try {
      return await releaseAsSeen(deps, pod, release, signal);
    } catch (error) {
      if (!isLostRace(error)) throw error;
      if (asSeen) return { kind: "not-there", why: `pod ${name} is no longer as it was seen` };
      if (attempt === maxTries) throw error;
    }
    const now = await current(deps, { namespace, name }, signal);
    if (now === undefined) return { kind: "not-there", why: `pod ${name} is gone` };
    pod = now;
  }
}

/** Throws what a lost race is told by. */
async function releaseAsSeen(deps: ReleaseDeps, pod: Pod, release: Omit<Release, "fate">, signal: AbortSignal): Promise<ReleaseOutcome> {
  const fate = await fateOfPod(deps, pod, signal);
  using rest = fate.kind === "recycle" ? deps.resting?.decide(pod) : undefined;
  const plan = planRelease(pod, { ...release, fate, rests: rest?.rests === true }, deps.clock.now());
  if (plan.kind === "already-stopping") return plan;
  if (plan.kind === "refused") return { kind: "not-there", why: plan.message };
  const { namespace, name = "" } = pod.metadata;
  const released = await deps.client.patch(Pods, { namespace, name }, plan.patch, { signal });
  deps.cache.pods.remember(released);
  if (isResting(released) && fate.kind === "recycle") await retireOrRenew(deps, released, release.sandboxId, fate.images);
  return { kind: "released", pod: released };
}

async function current(
  { client, cache }: ReleaseDeps,
  key: { readonly namespace?: string | undefined; readonly name: string },
  signal: AbortSignal,
): Promise<Pod | undefined> {
  try {
    return await cache.readPod(client, key, signal);
  } catch (error) {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  }
}

/**
 * What is answered has ended: either nothing of it runs any more, or its container goes at once. Who dies in between is followed by the
 * controller of renewals, and so is one whom nothing of this succeeds.
 */
async function retireOrRenew(deps: ReleaseDeps, pod: Pod, sandboxId: string, images: ContainerImages): Promise<void> {
  if (await deps.resting?.retire(pod, sandboxId)) return;
  const patch = planRenewal(pod, images, deps.clock.now());
  if (patch === undefined) return;
  try {
    await patchPodAsSeen(deps, pod, patch);
  } catch (error) {
    deps.log.warn({ sandboxId, pod: pod.metadata.name, error }, "an ended sandbox could not be retired, nor its container exchanged");
  }
}
