import type { EngineAbilities } from "#engine-port/abilities.ts";
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
