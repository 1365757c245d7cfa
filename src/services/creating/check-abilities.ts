/** Refuses wishes that this engine cannot fulfil, before anything is written. The engine says why. */
import type { EngineAbilities } from "#engine-port/abilities.ts";
import { type EgressPolicy, egressPolicyText, parseEgressPolicy } from "#model/egress-policy.ts";
import type { TimeoutAction } from "#model/keys.ts";
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

export interface PausingWish {
  /** Where the sandbox is, if it is anywhere yet. */
  readonly nodeName?: string | undefined;
  readonly field?: "onTimeout";
}

/**
 * A wish that no node answers would stay on the pod: its sandbox would count as paused, unreachable and with its clocks stopped, for good.
 * Throws not_implemented.
 */
export function checkPausing(abilities: Pick<EngineAbilities, "pause">, { nodeName, field }: PausingWish): void {
  const pause = abilities.pause(nodeName);
  if (!pause.able) throw new ServiceError("not_implemented", pause.why, field === undefined ? {} : { field });
}

/** What a timeout is to do must be possible when it comes. Throws not_implemented. */
export function checkTimeoutAction(abilities: Pick<EngineAbilities, "pause" | "deepPause">, action: TimeoutAction | undefined): void {
  if (action === "pause" || action === "deep-pause") checkPausing(abilities, { field: "onTimeout" });
  if (action === "deep-pause") checkDeepPausing(abilities, { field: "onTimeout" });
}

/** Throws not_implemented. */
export function checkDeepPausing(
  abilities: Pick<EngineAbilities, "deepPause">,
  { nodeName, field }: { readonly nodeName?: string | undefined; readonly field: "onTimeout" | "memory" },
): void {
  const able = abilities.deepPause(nodeName);
  if (!able.able) throw new ServiceError("not_implemented", able.why, { field });
}
