import { ServiceError } from "./service-error.ts";

/**
 * A wish that no node answers would stay on the pod: its sandbox would count as paused, unreachable and with its clocks stopped, for good.
 * Throws not_implemented.
 */
export function checkPausing(deps: { readonly freezes?: boolean | undefined }, field?: "onTimeout"): void {
  if (deps.freezes ?? true) return;
  const message = "the nodes of this cluster cannot freeze a sandbox: it can run or end, but not pause";
  throw new ServiceError("not_implemented", message, field === undefined ? {} : { field });
}
