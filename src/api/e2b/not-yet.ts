import { ServiceError } from "#services/service-error.ts";

/** What E2B has and AgentBox does not have yet, by its name. */
export function notYet(what: string): ServiceError {
  return new ServiceError("not_implemented", `AgentBox does not have this yet: ${what}`);
}
