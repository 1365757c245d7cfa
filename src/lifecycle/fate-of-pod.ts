/** What becomes of a pod after its use, as its pool is now. */
import type { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import type { Logger } from "#lib/log.ts";
import { poolOf, sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { DaemonSettings } from "#sandbox/daemon-delivery.ts";
import { podBlueprint } from "#sandbox/pod-blueprint.ts";
import { type Fate, fateAfterUse } from "#sandbox/recycling.ts";
import { templateHash } from "#sandbox/template-hash.ts";
import { type ImageDigests, pulledBy, pullerOf, templateOf, waitingImages } from "./pool-images.ts";

/** The settings are part of what pods are made from. */
export interface FateDeps extends DaemonSettings {
  readonly cache: Pick<SandboxCache, "pods" | "pools" | "templates" | "claimLeases" | "readPod" | "readClaimLease">;
  readonly digests: ImageDigests;
  readonly log: Logger;
  /** After so many sandboxes a pod is replaced. */
  readonly maxUses: number;
}

/** A pool that is gone or going, or whose images cannot be found out, gets no pod back. */
export async function fateOfPod(deps: FateDeps, pod: Pod, signal: AbortSignal): Promise<Fate> {
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
