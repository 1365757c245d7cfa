import type { EngineAbilities } from "#engine-port/abilities.ts";
import type { TimeoutAction } from "#model/keys.ts";
import { ServiceError } from "#services/service-error.ts";

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
export function checkTimeoutAction(abilities: Pick<EngineAbilities, "pause" | "checkpoint">, action: TimeoutAction | undefined): void {
  if (action === "pause" || action === "deep-pause") checkPausing(abilities, { field: "onTimeout" });
  if (action === "deep-pause") checkDeepPausing(abilities, { field: "onTimeout" });
}

/** Throws not_implemented. */
export function checkDeepPausing(
  abilities: Pick<EngineAbilities, "checkpoint">,
  { nodeName, field }: { readonly nodeName?: string | undefined; readonly field: "onTimeout" | "memory" },
): void {
  const checkpoint = abilities.checkpoint(nodeName);
  if (!checkpoint.able) throw new ServiceError("not_implemented", checkpoint.why, { field });
}
