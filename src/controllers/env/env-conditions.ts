/** The conditions of an Env: whether it is ready, made from its template, and scaled. Each says what would help. Pure. */
import type { StatedCondition } from "#model/conditions.ts";
import type { EnvObservedMember } from "#model/env-status.ts";
import { annotationKeys, envConditions } from "#model/keys.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import type { EnvProblem } from "#sandbox/envs/check-env.ts";
import { isOnDemand } from "#sandbox/envs/env-members.ts";

export interface EnvFacts {
  readonly env: SandboxEnv;
  readonly clusterID: string;
  readonly problems: readonly EnvProblem[];
  /** In this cluster. */
  readonly members: readonly EnvObservedMember[];
  /** Of the Env's name; undefined when there is none. */
  readonly template: SandboxTemplate | undefined;
  /** Pools that wait for their sandboxes to end. */
  readonly leaving: readonly string[];
}

const shownProblems = 3;
const maxMessage = 1_000;

export function envConditionsOf(facts: EnvFacts): readonly StatedCondition[] {
  return [readiness(facts), consistency(facts), autoscaling(facts)];
}

function readiness(facts: EnvFacts): StatedCondition {
  const { ready: type } = envConditions;
  const not = (reason: string, message: string): StatedCondition => ({
    type,
    status: "False",
    reason,
    message: message.slice(0, maxMessage),
  });
  const { env, problems, members, clusterID, leaving } = facts;
  if (env.metadata.deletionTimestamp !== undefined) {
    const how = `running sandboxes run on; annotation ${annotationKeys.endSandboxes}: "true" on the Env ends them`;
    return not(
      "Deleting",
      leaving.length === 0 ? "the Env is being deleted" : `the Env is deleted when ${leaving.join(", ")} are empty: ${how}`,
    );
  }
  const [first] = problems;
  if (first !== undefined) return not(first.reason, problemsText(problems));
  if (members.length === 0) {
    const ids = (env.spec.clusters ?? []).map((cluster) => cluster.clusterID).join(", ");
    return not("NoMembersHere", `this cluster is ${clusterID}, and the Env has members in ${ids} only; add members for ${clusterID}`);
  }
  for (const state of ["Missing", "Inconsistent", "Saturated"] as const) {
    const found = members.filter((member) => member.state === state);
    if (found.length > 0) return not(`Member${state}`, found.map(({ name, message = "" }) => `${name}: ${message}`).join("; "));
  }
  return {
    type,
    status: "True",
    reason: "MembersActive",
    message: members.length === 1 ? "its member is Active" : `all ${members.length} members are Active`,
  };
}

function problemsText(problems: readonly EnvProblem[]): string {
  const shown = problems.slice(0, shownProblems).map(({ field, message }) => `${field}: ${message}`);
  const rest = problems.length - shown.length;
  return [...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].join("; ");
}

function consistency(facts: EnvFacts): StatedCondition {
  const { env, members, template } = facts;
  const { templateConsistent: type } = envConditions;
  const { name, version = "" } = env.spec.templateRef;
  const not = (reason: string, message: string): StatedCondition => ({
    type,
    status: "False",
    reason,
    message: message.slice(0, maxMessage),
  });
  if (template === undefined && !isMadeWithout(env)) {
    return not("TemplateMissing", `there is no SandboxTemplate ${name}; members stay as they are, and new ones cannot be made`);
  }
  const unmade = whyUnmade(facts);
  if (unmade !== undefined) return { type, ...unmade };
  const inconsistent = members.find(({ state }) => state === "Inconsistent");
  if (inconsistent !== undefined) return not("MemberInconsistent", `${inconsistent.name}: ${inconsistent.message ?? ""}`);
  const current = version === "" ? (template?.spec.version ?? "") : version;
  const behind = members.filter((member) => member.templateVersion !== undefined && current !== "" && member.templateVersion !== current);
  if (behind.length > 0) {
    const list = behind.map((member) => `${member.name} (${member.templateVersion ?? ""})`).join(", ");
    return not("TemplateOutdated", `template ${name} is at version ${current}; made from another one: ${list}; refresh them to follow it`);
  }
  return {
    type,
    status: "True",
    reason: "Consistent",
    message: `all members are made from template ${name}${current === "" ? "" : ` ${current}`}`,
  };
}

/** Of members that have no pool there is nothing to say yet, but what keeps them from having one. */
function whyUnmade({ members, problems }: EnvFacts): Omit<StatedCondition, "type"> | undefined {
  const found = problems.find(({ reason }) => reason === "TemplateVersionMissing" || reason === "TemplateInvalid");
  if (found !== undefined) return { status: "False", reason: found.reason, message: found.message.slice(0, maxMessage) };
  if (members.some(({ state }) => state !== "Missing")) return undefined;
  return { status: "Unknown", reason: "NothingMade", message: "no member of this cluster has a pool yet: see the condition Ready" };
}

/** An Env of an adopted pool that brings its own template names none that there is. */
function isMadeWithout({ metadata, spec }: SandboxEnv): boolean {
  return metadata.annotations?.[annotationKeys.adoptedGeneration] !== undefined && spec.templateRef.name === metadata.name;
}

function autoscaling({ env, problems }: EnvFacts): StatedCondition {
  const { autoscalingActive: type } = envConditions;
  if (isOnDemand(env)) {
    const message = "mode OnDemandJob makes a pod for each request and keeps none: there is nothing to scale";
    return { type, status: "False", reason: "OnDemand", message };
  }
  const enabled = (env.spec.autoscaling?.groups ?? []).filter((group) => group.enabled === true).map(({ name }) => name);
  if (enabled.length === 0) {
    const message = "no group is enabled: replicas of members are set by hand; set enabled: true in spec.autoscaling.groups";
    return { type, status: "False", reason: "Disabled", message };
  }
  if (problems.length > 0) {
    return { type, status: "False", reason: "InvalidSpec", message: "something is wrong with the Env: see its condition Ready" };
  }
  return { type, status: "True", reason: "Enabled", message: `enabled for ${enabled.join(", ")}` };
}
