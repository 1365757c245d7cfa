import { ServiceError } from "#services/service-error.ts";

/** An E2B feature that AgentBox does not have yet, by its name. */
export function notYet(what: string): ServiceError {
  return new ServiceError("not_implemented", `AgentBox does not have this yet: ${what}`);
}
