/** Events about pools, for people. */
import type { EventSubject, Happening } from "#kube/events/event-recorder.ts";
import { ownGroup, ownVersion, poolConditionReasons } from "#model/keys.ts";
import type { Condition } from "#model/meta.ts";
import type { SandboxPool, SandboxPoolPhase } from "#model/sandbox-pool.ts";
import type { PoolBlueprint } from "#controllers/pool/pool-blueprint.ts";
import { keyOf, type PoolTools } from "#controllers/pool/pool-deps.ts";

export interface PhaseChange {
  readonly before: SandboxPoolPhase | undefined;
  readonly now: SandboxPoolPhase;
  /** Something was wrong, and was told. */
  readonly isRecovery: boolean;
  readonly wanted: number;
}

/** What a change of phase is called; undefined when it is not worth telling. */
export function phaseHappening({ before, now, isRecovery, wanted }: PhaseChange): Happening | undefined {
  if (before === now) return undefined;
  switch (now) {
    case "ScalingUp":
      return { type: "Normal", reason: "ScalingUp", message: `adding pods until there are ${wanted}` };
    case "ScalingDown":
      return { type: "Normal", reason: "ScalingDown", message: `removing idle pods until there are ${wanted}` };
    case "Ready":
      return isRecovery
        ? { type: "Normal", reason: "PoolRecovered", message: "all pods are healthy again" }
        : { type: "Normal", reason: "PoolReady", message: `all ${wanted} pods exist and are healthy` };
    // Told by what is wrong, see degradedHappening; pods that are merely starting make a pool Degraded too.
    case "Degraded":
    case "Pending":
    case "Terminating":
      return undefined;
  }
}

/** Pods that fail, and what keeps pods from being made. Unready ones alone are no news: every pod begins so. */
export function degradedHappening(degraded: Condition | undefined): Happening | undefined {
  if (degraded === undefined) return undefined;
  const { reason, message } = degraded;
  switch (reason) {
    case poolConditionReasons.templateMissing:
    case poolConditionReasons.templateInvalid:
    case poolConditionReasons.imageUnavailable:
    case poolConditionReasons.podsRefused:
    case poolConditionReasons.refusedByPlugin:
    case poolConditionReasons.podsNotStarting:
      return { type: "Warning", reason, message };
    case poolConditionReasons.failedPodsPresent:
    case poolConditionReasons.unhealthyAndFailedPods:
      return { type: "Warning", reason: "Degraded", message };
    default:
      return undefined;
  }
}

export function tellPool({ events }: Pick<PoolTools, "events">, pool: SandboxPool, happening: Happening | undefined): void {
  if (happening !== undefined) events.record(subjectOf(pool), happening);
}

/** Once for each template: what of it is not kept in the pods. */
export function tellWarnings(tools: PoolTools, pool: SandboxPool, { hash, warnings }: PoolBlueprint): void {
  const memory = tools.memories.of(keyOf(pool));
  if (memory.warnedOf === hash) return;
  memory.warnedOf = hash;
  for (const message of warnings) tellPool(tools, pool, { type: "Warning", reason: "TemplateAdjusted", message });
}

function subjectOf({ metadata: { namespace, name = "", uid = "" } }: SandboxPool): EventSubject {
  return { apiVersion: `${ownGroup}/${ownVersion}`, kind: "SandboxPool", namespace, name, uid };
}
