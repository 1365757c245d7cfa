import type { EnvGroup } from "#client/envs.ts";

/** A policy in short form, such as `Demand 0-20`. */
export function policyText({ enabled, policy }: Pick<EnvGroup, "enabled" | "policy">): string {
  if (!enabled || policy === undefined) return "by hand";
  const { minReplicas = 0, maxReplicas, scaleUpPolicy, schedules = [] } = policy;
  const bounds = maxReplicas === undefined ? `from ${minReplicas}` : `${minReplicas}-${maxReplicas}`;
  const floors = schedules.length === 0 ? "" : `, ${schedules.length} schedule${schedules.length === 1 ? "" : "s"}`;
  return `${scaleUpPolicy?.mode ?? "Default"} ${bounds}${floors}`;
}
