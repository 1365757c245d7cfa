/** Why there is no pod for a create, and when trying again makes sense. Pure but for the cache that it reads. */
import { podsByPoolAndSlot, slotValue } from "#read-model/indexes.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { ErrorDetails } from "#model/error-codes.ts";
import { conditionIn } from "#model/conditions.ts";
import { annotationKeys, poolConditionReasons as reasons, poolConditions } from "#model/keys.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { parseTime } from "#sandbox/annotation-values.ts";
import type { CreateSource } from "./create-source.ts";
import { type OfferStanding, podsIn, sumOf } from "./pool-standing.ts";
import { ServiceError } from "#services/service-error.ts";

/** What the create named, as errors call it. */
export type ShortOf = Pick<CreateSource, "what" | "isPool" | "env">;

/** How the pools stood, for programs. */
export function shortageDetails({ isPool, env }: ShortOf, standings: readonly OfferStanding[]): Pick<ErrorDetails, "pool" | "env"> {
  return { pool: sumOf(standings), ...(isPool || env === undefined ? {} : { env: env.metadata.name ?? "" }) };
}

/** What keeps a pool from making pods until its owner does something about it. */
const troubles: ReadonlySet<string> = new Set([
  reasons.templateMissing,
  reasons.templateInvalid,
  reasons.imageUnavailable,
  reasons.podsRefused,
  reasons.podsNotStarting,
]);

export function troubleOf(pool: SandboxPool | undefined): string | undefined {
  const degraded = pool === undefined ? undefined : conditionIn(pool, poolConditions.degraded);
  return degraded?.status === "True" && troubles.has(degraded.reason) ? degraded.message : undefined;
}

/** For pools from which nothing can come free however long a request waits: none has a pod, wants one and can make one. */
export function nothingToWaitFor(source: ShortOf, standings: readonly OfferStanding[]): ServiceError | undefined {
  const { what, isPool } = source;
  const reasonsInVain = standings.map((standing) => [standing, whyInVain(standing)] as const);
  if (reasonsInVain.some(([, why]) => why === undefined)) return undefined;
  const why = reasonsInVain.map(([{ pool }, text]) => (isPool ? `${what} ${text ?? ""}` : `pool ${pool.name} ${text ?? ""}`)).join("; ");
  return new ServiceError("no_capacity", isPool ? why : `${what} cannot have a pod: ${why}`, shortageDetails(source, standings));
}

/** Undefined while a pod may come. */
function whyInVain({ counts, object, growth, pool: { name } }: OfferStanding): string | undefined {
  if (podsIn(counts) > 0) return undefined;
  const trouble = troubleOf(object);
  if (trouble !== undefined) return `has no pods: ${trouble}`;
  if (growth.kind === "grows") {
    return Math.min(growth.memberMax, growth.groupMax) > 0
      ? undefined
      : "may not have a pod, because maxReplicas of the member or its group is 0: raise it";
  }
  if (object.spec.replicas > 0) return undefined;
  const remedy = {
    "no-env": `scale it up, as with agentbox scale ${name} 1`,
    "env-deleted": "its Env is being deleted",
    "no-group": "raise the member's replicas, or give it a scalingGroup with autoscaling enabled",
    "group-disabled": `enable autoscaling of its group ${growth.group}, or raise the member's replicas`,
  }[growth.why];
  return `has 0 replicas, so no pod can become free: ${remedy}`;
}

/** With what the pools have, so that the caller can change it. */
export function noneFree({ what, isPool }: ShortOf, standings: readonly OfferStanding[], waitMs: number): string {
  const { waiting } = sumOf(standings);
  const begin = `no pod of ${what} became free within ${waitMs / 1000} s: `;
  const whole = isPool ? standings.map((standing) => useOf(standing, "its ")) : standings.map((standing) => memberText(standing));
  return `${begin}${whole.join("; ")}${isPool ? "," : ";"} and ${waiting} more requests wait${isPool ? standings.map(troubleText).join("") : ""}`;
}

function memberText(standing: OfferStanding): string {
  const { pool, saturation, isAtCeiling } = standing;
  const limits = [...(saturation === undefined ? [] : [`cannot grow: ${saturation}`]), ...(isAtCeiling ? ["at its maximum"] : [])];
  return `pool ${pool.name}: ${useOf(standing, "")}${limits.map((text) => `, ${text}`).join("")}${troubleText(standing)}`;
}

function useOf({ counts }: OfferStanding, whose: "its " | ""): string {
  const pods = podsIn(counts);
  return `${pods - counts.idle} of ${whose}${pods} pods are in use`;
}

function troubleText({ object }: OfferStanding): string {
  const trouble = troubleOf(object);
  return trouble === undefined ? "" : `; ${trouble}`;
}

/** Enough to find one that ends soon; every request that is refused asks. */
const maxLookedAt = 200;

/**
 * When the next pod can be expected: at once while some are on their way to idle or being made, else when the first sandbox reaches its end
 * time. Undefined where nothing says so: sandboxes without an end may run for ever.
 */
export function retryAfterSeconds(cache: Pick<SandboxCache, "pods">, standings: readonly OfferStanding[], now: number): number | undefined {
  const first = standings.reduce((soonest, standing) => Math.min(soonest, soonestOf(cache, standing, now)), Infinity);
  return first === Infinity ? undefined : first;
}

function soonestOf({ pods }: Pick<SandboxCache, "pods">, { counts, pool, isAtCeiling, isSaturated }: OfferStanding, now: number): number {
  if (counts.idle + counts.stopping > 0 || !(isAtCeiling || isSaturated)) return 1;
  const ends = pods.objects
    .lookup(podsByPoolAndSlot, slotValue({ namespace: pool.namespace, pool: pool.name, slot: "running" }))
    .take(maxLookedAt)
    .map(({ metadata }) => parseTime(metadata.annotations?.[annotationKeys.endTime]) ?? Infinity);
  const first = ends.reduce((earliest, end) => Math.min(earliest, end), Infinity);
  return first === Infinity ? Infinity : Math.max(1, Math.ceil((first - now) / 1000));
}
