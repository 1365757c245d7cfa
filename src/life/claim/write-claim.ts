/**
 * The writes of a claim: the one that decides which request gets an idle pod, the one that closes an idle pod to claims, and the one that brings a claim to the pod
 * itself where the engine has written it elsewhere (engine-port/claim-book.ts).
 */
import type { ClaimNote } from "#engine-port/claim-book.ts";
import { ApiError } from "#kube/api-error.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Clock } from "#lib/clock.ts";
import { isClaimed, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { JsonPatch } from "#model/patch.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { isClaimElsewhere } from "#model/shown-pod.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { formatTime } from "#sandbox/annotation-values.ts";
import { type PodChange, podPatch } from "#sandbox/pod-patch.ts";

export interface ClaimWriteDeps {
  readonly client: Pick<ObjectClient, "get" | "create" | "update" | "patch">;
  readonly cache: Pick<SandboxCache, "pods" | "claims">;
}

export interface BringDeps {
  readonly client: Pick<ObjectClient, "get" | "patch">;
  readonly cache: Pick<SandboxCache, "pods" | "readPod">;
}

/** The change, and the patch that makes it on the pod itself. */
export interface PlannedClaim {
  readonly change: PodChange;
  readonly patch: JsonPatch;
}

/** Gives the idle pod to a sandbox with one write, and shows it so. Throws what a lost race is told by. */
export async function writeClaim({ client, cache }: ClaimWriteDeps, pod: Pod, { change, patch }: PlannedClaim): Promise<Pod> {
  const written = await cache.claims.claim(client, pod, { note: noteIn(change), patch });
  // A claim that stands elsewhere has told the cache already.
  if (!isClaimElsewhere(written)) cache.pods.remember(written);
  return written;
}

/** Writes to the pod itself what is shown on it, and its images. Throws what a lost race is told by when the sandbox has ended meanwhile. */
export async function bringToPod(deps: BringDeps, claimed: Pod, images: PodChange["images"]): Promise<Pod> {
  const { client, cache } = deps;
  const change = images === undefined ? {} : { images };
  let pod = claimed;
  for (let attempt = 1; ; attempt++) {
    try {
      const written = await client.patch(Pods, keyOf(pod), podPatch(pod, change));
      cache.pods.remember(written);
      return written;
    } catch (error) {
      if (!isLostRace(error) || attempt === maxTries) throw error;
    }
    // Its node may have reported something.
    pod = await cache.readPod(client, keyOf(claimed));
    if (!isClaimed(pod) || sandboxIdOf(pod) !== sandboxIdOf(claimed))
      throw new ApiError("Conflict", "the sandbox was ended while it was claimed");
  }
}

const maxTries = 3;

/** From now on no request can claim the idle pod. False when a claim was first; true also for a pod that could not be claimed anyway. */
export async function closeToClaims(deps: ClaimWriteDeps & { readonly clock: Clock }, pod: Pod, signal?: AbortSignal): Promise<boolean> {
  if (sandboxPhaseOf(pod) !== "idle" || pod.metadata.annotations?.[annotationKeys.leaving] !== undefined) return true;
  const leaving = { labels: {}, annotations: { [annotationKeys.leaving]: formatTime(deps.clock.now()) }, without: [] };
  return deps.cache.claims.close(deps.client, pod, leaving, signal);
}

function noteIn({ phase, labels, annotations = {}, removeAnnotations = [] }: PodChange): ClaimNote {
  return {
    labels: { ...labels, ...(phase === undefined ? {} : { [labelKeys.sandboxPhase]: phase }) },
    annotations,
    without: removeAnnotations,
  };
}
