/** What becomes of a pod after its use, as its pool is now. */
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { Logger } from "#lib/log.ts";
import { poolOf, sandboxIdOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { DaemonSettings } from "#sandbox/pods/daemon-delivery.ts";
import { podBlueprint } from "#sandbox/pods/pod-blueprint.ts";
import { type Fate, fateAfterUse } from "./plan-fate.ts";
import type { ResolvedTemplate } from "#sandbox/pools/resolve-template.ts";
import { targetsServed } from "#sandbox/pools/served-version.ts";
import { templateHash } from "#sandbox/pools/template-hash.ts";
import { type ImageDigests, pulledBy, pullersOf, templateOf, waitingImages } from "#pools/pool-images.ts";

/** The settings are part of what pods are made from. */
export interface FateDeps extends DaemonSettings {
  readonly cache: Pick<SandboxCache, "pods" | "pools" | "templates" | "claims" | "readPod">;
  readonly digests: ImageDigests;
  readonly log: Logger;
  /** After so many sandboxes a pod is replaced. */
  readonly maxUses: number;
}

/**
 * A pool that is gone or going, or whose images cannot be found out, gets no pod back. A pod of the version that serves goes back to its own
 * images for as long as no pod of a newer one has been ready: what would take its place might not start.
 */
export async function fateOfPod(deps: FateDeps, pod: Pod, signal: AbortSignal): Promise<Fate> {
  const pool = deps.cache.pools.objects.get({ namespace: pod.metadata.namespace, name: poolOf(pod) ?? "" });
  if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return { kind: "delete", reasons: ["the pool is going"] };
  const resolved = templateOf(deps, pool);
  const served = servedFate(deps, pod, pool, resolved);
  if (served !== undefined) return served;
  if (resolved.kind === "missing-template") return { kind: "delete", reasons: [`there is no template ${resolved.name}`] };
  const blueprint = podBlueprint(resolved.template, deps);
  if (blueprint.kind === "refused") return { kind: "delete", reasons: [blueprint.message] };
  try {
    const waiting = await waitingImages(pulledBy(deps, pullersOf(pool, resolved.template)), resolved.template, signal);
    return fateAfterUse(pod, { waiting, maxUses: deps.maxUses, templateHash: templateHash(blueprint.blueprint) });
  } catch (error) {
    if (signal.aborted) throw error;
    // The sandbox is to end whether a registry answers or not.
    deps.log.warn({ sandboxId: sandboxIdOf(pod), pool: pool.metadata.name, error }, "waiting images could not be found out");
    return { kind: "delete", reasons: ["the digest of the waiting image is not known"] };
  }
}

/** Undefined for pods of any other version, and when the version that serves is what the template says now. */
function servedFate(deps: FateDeps, pod: Pod, { status }: SandboxPool, resolved: ResolvedTemplate): Fate | undefined {
  const serving = status?.serving;
  if (serving === undefined || pod.metadata.annotations?.[annotationKeys.templateHash] !== serving.templateHash) return undefined;
  const blueprint = resolved.kind === "template" ? podBlueprint(resolved.template, deps) : undefined;
  if (blueprint?.kind === "blueprint" && templateHash(blueprint.blueprint) === serving.templateHash) return undefined;
  return fateAfterUse(pod, { waiting: targetsServed(serving.waitingImages), maxUses: deps.maxUses });
}
