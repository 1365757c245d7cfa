import type { EngineAbilities } from "#engine-port/abilities.ts";
import { type EgressPolicy, egressPolicyText, parseEgressPolicy } from "#model/egress-policy.ts";
import { ServiceError } from "#services/service-error.ts";

/**
 * A policy that no node can read would let the sandbox connect nowhere, and its create wait for nothing. A policy that no node enforces would
 * be an empty promise. Throws invalid_request or not_implemented.
 */
export function checkEgress(policy: EgressPolicy | undefined, abilities: Pick<EngineAbilities, "egress">): void {
  if (policy === undefined) return;
  const enforcing = abilities.egress();
  if (!enforcing.able) throw new ServiceError("not_implemented", enforcing.why, { field: "egress" });
  const parsed = parseEgressPolicy(egressPolicyText(policy));
  if (parsed.kind === "invalid") throw new ServiceError("invalid_request", `egress: ${parsed.why}`, { field: "egress" });
}
