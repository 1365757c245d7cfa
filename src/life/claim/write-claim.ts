/**
 * The writes that decide which request gets an idle pod, if claims stand on Leases beside their pods (model/claim-lease.ts): the first write of the Lease
 * for one use of a pod wins, and all others lose. Deleting an idle pod takes part in that race, because otherwise a pod claimed a moment ago could be
 * deleted (I4).
 */
import { ApiError, isApiError } from "#kube/api-error.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { Clock } from "#lib/clock.ts";
import {
  type ClaimNote,
  holderIn,
  isClaimLease,
  isOfLaterUse,
  leaseAbout,
  noteAbout,
  podWithClaim,
  storedPod,
} from "#model/claim-lease.ts";
import { isClaimed, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { type Lease, Leases } from "#model/core-kinds.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { JsonPatch } from "#model/patch.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { formatTime } from "#sandbox/annotation-values.ts";
import { type PodChange, podPatch } from "#sandbox/pod-patch.ts";

export interface ClaimWriteDeps {
  readonly client: Pick<ObjectClient, "get" | "create" | "update" | "patch">;
  readonly cache: Pick<SandboxCache, "pods" | "claimLeases" | "readClaimLease">;
}

export interface BringDeps {
  readonly client: Pick<ObjectClient, "get" | "patch">;
  readonly cache: Pick<SandboxCache, "pods" | "readPod">;
}

/** The change, and the patch that brings it to the pod itself. */
export interface PlannedClaim {
  readonly change: PodChange;
  readonly patch: JsonPatch;
}

/** Claims the idle pod with one write, and passes the claim to the cache. Throws the error of a lost race. */
export async function writeClaim(deps: ClaimWriteDeps, pod: Pod, { change, patch }: PlannedClaim): Promise<Pod> {
  const { client, cache } = deps;
  if (cache.claimLeases !== undefined) return podWithClaim(pod, await writeLease(deps, pod, noteIn(change)));
  const written = await client.patch(Pods, keyOf(pod), patch);
  cache.pods.remember(written);
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

/** Closes the idle pod to claims. False if it was claimed first; true also for pods that cannot be claimed anyway. */
export async function closeToClaims(deps: ClaimWriteDeps & { readonly clock: Clock }, pod: Pod, signal?: AbortSignal): Promise<boolean> {
  if (deps.cache.claimLeases === undefined || sandboxPhaseOf(pod) !== "idle") return true;
  if (pod.metadata.annotations?.[annotationKeys.leaving] !== undefined) return true;
  const leaving = { labels: {}, annotations: { [annotationKeys.leaving]: formatTime(deps.clock.now()) }, without: [] };
  try {
    await writeLease(deps, pod, leaving, { signal });
    return true;
  } catch (error) {
    if (error instanceof ForeignLeaseError) return true;
    if (isLostRace(error)) return false;
    if (!isInGoingNamespace(error)) throw error;
    return closeInGoingNamespace(deps, pod, leaving, signal);
  }
}

/** A namespace that is being deleted accepts no new objects, so no first claim of this pod is possible. An existing Lease can still be written. */
async function closeInGoingNamespace(
  deps: ClaimWriteDeps,
  pod: Pod,
  leaving: ClaimNote,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const held = await deps.cache.readClaimLease(deps.client, keyOf(pod), signal);
  if (held === undefined) return true;
  try {
    await writeLease(deps, pod, leaving, { signal, held });
    return true;
  } catch (error) {
    if (error instanceof ForeignLeaseError) return true;
    if (isLostRace(error)) return false;
    throw error;
  }
}

/** A foreign Lease has the name of the pod. It is not ours to write, so no request can claim the pod. */
class ForeignLeaseError extends ApiError {
  constructor(name: string) {
    super("Conflict", `a Lease that is no claim has the name of pod ${name}`);
  }
}

function isInGoingNamespace(error: unknown): boolean {
  return isApiError(error, "Forbidden") && error.causes.some(({ reason }) => reason === "NamespaceTerminating");
}

function noteIn({ phase, labels, annotations = {}, removeAnnotations = [] }: PodChange): ClaimNote {
  return {
    labels: { ...labels, ...(phase === undefined ? {} : { [labelKeys.sandboxPhase]: phase }) },
    annotations,
    without: removeAnnotations,
  };
}

/** The cache may still show the Lease of an earlier use, once; more refusals mean that other requests want the pod. */
const maxTries = 3;

interface LeaseWriteOptions {
  readonly signal?: AbortSignal | undefined;
  /** The one that there is, if it is known better than by the cache. */
  readonly held?: Lease;
}

async function writeLease(deps: ClaimWriteDeps, shown: Pod, note: ClaimNote, options: LeaseWriteOptions = {}): Promise<Lease> {
  const { client, cache } = deps;
  const { signal } = options;
  const [pod, key] = [storedPod(shown), keyOf(shown)];
  let held = options.held ?? cache.claimLeases?.get(key);
  for (let attempt = 1; ; attempt++) {
    if (held !== undefined && isSaid(pod, note, held)) return held;
    const wanted = leaseAbout(pod, note, held);
    try {
      const written = await (held === undefined ? client.create(Leases, wanted, { signal }) : client.update(Leases, wanted, { signal }));
      cache.claimLeases?.remember(written);
      return written;
    } catch (error) {
      if (!isApiError(error, "AlreadyExists", "Conflict", "NotFound")) throw error;
      if (attempt === maxTries) throw new ApiError("Conflict", `others want pod ${key.name} too`, { cause: error });
    }
    held = await cache.readClaimLease(client, key, signal);
  }
}

/** True if the Lease already says so. Throws the error of a lost race if it has another claim, or belongs to a later use. */
function isSaid(pod: Pod, note: ClaimNote, held: Lease): boolean {
  if (!isClaimLease(held)) throw new ForeignLeaseError(keyOf(pod).name);
  if (isOfLaterUse(pod, held)) throw new ApiError("Conflict", `pod ${keyOf(pod).name} has been used since`);
  const first = noteAbout(pod, held);
  if (first === undefined) return false;
  // A write that was sent twice finds itself.
  if (holderIn(first) === holderIn(note)) return true;
  throw new ApiError("Conflict", `pod ${keyOf(pod).name} has been claimed`);
}
