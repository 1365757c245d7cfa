/** Visibility of a template: for all callers, unless it has rules. One matching rule is enough; inside a rule, team and users must both match. */
import type { SandboxTemplate, TemplateVisibilityRule } from "#model/sandbox-template.ts";
import type { Caller } from "#services/caller.ts";

export function maySee(caller: Caller, { spec: { visibility } }: SandboxTemplate): boolean {
  const rules = visibility?.rules ?? [];
  return caller.role === "admin" || rules.length === 0 || rules.some((rule) => fits(caller, rule));
}

function fits({ team, user }: Caller, rule: TemplateVisibilityRule): boolean {
  const { team: wantedTeam = "", users = [] } = rule;
  if (wantedTeam !== "" && wantedTeam !== team) return false;
  if (users.length === 0 || (user !== undefined && users.includes(user))) return true;
  // A key of the whole team acts for each of its users.
  return user === undefined && wantedTeam !== "";
}
