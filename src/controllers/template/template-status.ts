/** What a template says of itself: pure, from the template and the pools that name it. */
import { conditionIn, statedCondition } from "#model/conditions.ts";
import {
  annotationKeys,
  poolConditionReasons,
  poolConditions,
  templateConditionReasons as reasons,
  templateConditions,
} from "#model/keys.ts";
import type { Condition } from "#model/meta.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { SandboxTemplate, SandboxTemplateStatus } from "#model/sandbox-template.ts";

export interface TemplateFacts {
  /** Those that name it and stay. */
  readonly pools: readonly SandboxPool[];
  /** Why no pod can be made of the template as it stands, if a pool adds nothing to it. */
  readonly defect?: string | undefined;
}

interface Finding {
  readonly is: boolean;
  readonly reason: string;
  readonly message: string;
}

/** What others keep in the status stays. */
export function templateStatus(template: SandboxTemplate, facts: TemplateFacts, now: string): SandboxTemplateStatus {
  const { available, progressing, degraded } = templateConditions;
  const findings: readonly (readonly [string, Finding])[] = [
    [available, availability(facts)],
    [progressing, progress(template, facts)],
    [degraded, health(template, facts)],
  ];
  const stated = findings.map(([type, { is, reason, message }]): Condition =>
    statedCondition(template, { type, status: is ? "True" : "False", reason, message }, now),
  );
  const others = (template.status?.conditions ?? []).filter(({ type }) => !ownConditions.has(type));
  return { ...template.status, conditions: [...stated, ...others] };
}

const ownConditions: ReadonlySet<string> = new Set(Object.values(templateConditions));
const unused: Finding = { is: false, reason: reasons.notUsed, message: "no pool names this template" };

function availability({ pools }: TemplateFacts): Finding {
  if (pools.length === 0) return unused;
  const ready = pools.reduce((sum, { status }) => sum + (status?.idleReplicas ?? 0) - (status?.unavailableIdleReplicas ?? 0), 0);
  return ready > 0
    ? { is: true, reason: reasons.podsAvailable, message: `${ready} idle pods in ${numberOf(pools)} can be claimed` }
    : { is: false, reason: reasons.noPodsAvailable, message: `no idle pod in ${numberOf(pools)} can be claimed` };
}

/** A pool follows in two steps: it takes over the version, then it replaces its idle pods. */
function progress(template: SandboxTemplate, { pools }: TemplateFacts): Finding {
  if (pools.length === 0) return unused;
  const version = template.spec.version ?? "";
  const behind = pools.filter((pool) => versionOf(pool) !== version || (pool.status?.outdatedIdleReplicas ?? 0) > 0);
  if (behind.length === 0) return { is: false, reason: reasons.poolsUpToDate, message: `${numberOf(pools)} up to date` };
  const idle = behind.reduce((sum, { status }) => sum + (status?.outdatedIdleReplicas ?? 0), 0);
  const message = `${behind.length} of ${numberOf(pools)} not up to date, ${idle} idle pods to be replaced: ${namesOf(behind)}`;
  return { is: true, reason: reasons.poolsOutdated, message };
}

/** Problems that make the template unusable come first, because its author must solve them. */
function health(template: SandboxTemplate, { pools, defect }: TemplateFacts): Finding {
  if (template.metadata.deletionTimestamp !== undefined && pools.length > 0) {
    const message = `the template is being deleted, but pools still use it: delete ${namesOf(pools)}, or change their template`;
    return { is: true, reason: reasons.deletedInUse, message };
  }
  if (defect !== undefined) return { is: true, reason: reasons.templateInvalid, message: defect };
  const degraded = pools.filter((pool) => degradedIn(pool)?.status === "True");
  const invalid = degraded.find((pool) => degradedIn(pool)?.reason === poolConditionReasons.templateInvalid);
  if (invalid !== undefined) {
    const message = `pool ${namesOf([invalid])}: ${degradedIn(invalid)?.message ?? ""}`;
    return { is: true, reason: reasons.templateInvalid, message };
  }
  if (pools.length === 0) return unused;
  return degraded.length > 0
    ? { is: true, reason: reasons.poolsDegraded, message: `${degraded.length} of ${numberOf(pools)} degraded: ${namesOf(degraded)}` }
    : { is: false, reason: reasons.poolsHealthy, message: `${numberOf(pools)} healthy` };
}

function degradedIn(pool: SandboxPool): Condition | undefined {
  return conditionIn(pool, poolConditions.degraded);
}

function versionOf({ metadata: { annotations = {} } }: SandboxPool): string {
  return annotations[annotationKeys.templateVersion] ?? "";
}

function numberOf(pools: readonly SandboxPool[]): string {
  return pools.length === 1 ? "1 pool" : `${pools.length} pools`;
}

const maxNames = 5;

/** In the order of their names, so that the same pools make the same text. */
function namesOf(pools: readonly SandboxPool[]): string {
  const names = pools.map(({ metadata: { namespace = "", name = "" } }) => `${namespace}/${name}`).sort();
  const more = names.length > maxNames ? ` and ${names.length - maxNames} more` : "";
  return names.slice(0, maxNames).join(", ") + more;
}
