import { type EgressPolicy, egressPolicyText, parseEgressPolicy } from "#model/egress-policy.ts";
import { ServiceError } from "#services/service-error.ts";

/**
 * An egress policy that no node can parse would block all traffic and make its create wait for nothing; a policy that no node enforces would be a false
 * promise. Throws invalid_request or not_implemented.
 * be a promise. Throws invalid_request or not_implemented.
 */
export function checkEgress(policy: EgressPolicy | undefined, isEnforced = true): void {
  if (policy === undefined) return;
  if (!isEnforced) {
    const message =
      "no component of this cluster enforces egress rules of single sandboxes: restrict the network of all sandboxes with NetworkPolicies";
    throw new ServiceError("not_implemented", message, { field: "egress" });
  }
  const parsed = parseEgressPolicy(egressPolicyText(policy));
  if (parsed.kind === "invalid") throw new ServiceError("invalid_request", `egress: ${parsed.why}`, { field: "egress" });
}
