/**
 * Ends a sandbox with one conditional write, whoever asks for it: an API process or a controller. The plan is
 * `sandbox/release-patch.ts`; here it is sent, and decided anew when the pod has changed meanwhile.
 *
 * Beside it: `pool-images.ts` (what a pool's pods run), `recent-digests.ts` (asked for seldom), `record-end.ts` (the end of a sandbox,
 * into the history), `patch-pod.ts` (one planned write), `delete-pod.ts` (the end of a pod).
 */
import { isApiError } from "#kube/api-error.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { poolOf, sandboxIdOf } from "#model/claimed-pod.ts";
import { type Pod, Pods } from "#model/pod.ts";
import type { DaemonSettings } from "#sandbox/daemon-delivery.ts";
import { podBlueprint } from "#sandbox/pod-blueprint.ts";
import { type Fate, fateAfterUse } from "#sandbox/recycling.ts";
import { planRelease, type Release } from "#sandbox/release-patch.ts";
import { templateHash } from "#sandbox/template-hash.ts";
import { type ImageDigests, pulledBy, pullerOf, templateOf, waitingImages } from "./pool-images.ts";

/** The settings are part of what pods are made from. */
export interface ReleaseDeps extends DaemonSettings {
  readonly client: ObjectClient;
  readonly cache: Pick<SandboxCache, "pods" | "pools" | "templates">;
  readonly digests: ImageDigests;
  readonly clock: Clock;
  readonly log: Logger;
  /** After so many sandboxes a pod is replaced. */
  readonly maxUses: number;
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
    const fate = await fateOf(deps, pod, signal);
    const plan = planRelease(pod, { ...release, fate }, deps.clock.now());
    if (plan.kind === "already-stopping") return plan;
    if (plan.kind === "refused") return { kind: "not-there", why: plan.message };
    const { namespace, name = "" } = pod.metadata;
    try {
      const released = await deps.client.patch(Pods, { namespace, name }, plan.patch, { signal });
      deps.cache.pods.remember(released);
      return { kind: "released", pod: released };
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

async function current(
  { client, cache }: ReleaseDeps,
  key: { readonly namespace?: string | undefined; readonly name: string },
  signal: AbortSignal,
): Promise<Pod | undefined> {
  try {
    const pod = await client.get(Pods, key, { signal });
    cache.pods.remember(pod);
    return pod;
  } catch (error) {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** A pool that is gone or going, or whose images cannot be found out, gets no pod back. */
async function fateOf(deps: ReleaseDeps, pod: Pod, signal: AbortSignal): Promise<Fate> {
  const pool = deps.cache.pools.objects.get({ namespace: pod.metadata.namespace, name: poolOf(pod) ?? "" });
  if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return { kind: "replace", reasons: ["the pool is going"] };
  const resolved = templateOf(deps, pool);
  if (resolved.kind === "missing-template") return { kind: "replace", reasons: [`there is no template ${resolved.name}`] };
  const blueprint = podBlueprint(resolved.template, deps);
  if (blueprint.kind === "refused") return { kind: "replace", reasons: [blueprint.message] };
  try {
    const waiting = await waitingImages(pulledBy(deps, pullerOf(pool, resolved.template)), resolved.template, signal);
    return fateAfterUse(pod, { waiting, maxUses: deps.maxUses, templateHash: templateHash(blueprint.blueprint) });
  } catch (error) {
    if (signal.aborted) throw error;
    // The sandbox is to end whether a registry answers or not.
    deps.log.warn({ sandboxId: sandboxIdOf(pod), pool: pool.metadata.name, error }, "waiting images could not be found out");
    return { kind: "replace", reasons: ["the digest of the waiting image is not known"] };
  }
}
