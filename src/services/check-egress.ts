import { type EgressPolicy, egressPolicyText, parseEgressPolicy } from "#model/egress-policy.ts";
import { ServiceError } from "./service-error.ts";

/** A policy that no node can read would let the sandbox connect nowhere, and its create wait for nothing. Throws invalid_request. */
export function checkEgress(policy: EgressPolicy | undefined): void {
  if (policy === undefined) return;
  const parsed = parseEgressPolicy(egressPolicyText(policy));
  if (parsed.kind === "invalid") throw new ServiceError("invalid_request", `egress: ${parsed.why}`, { field: "egress" });
}
