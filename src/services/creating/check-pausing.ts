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
export function checkPausing(
  { freezes = () => true }: { readonly freezes?: ((nodeName?: string) => boolean) | undefined },
  { nodeName, field }: PausingWish,
): void {
  if (freezes(nodeName)) return;
  const agents = freezes() ? `the node ${nodeName} has no agent that could` : "no node of this cluster has an agent that could";
  const message = `${agents} freeze a sandbox: it can run or end, but not pause (an operator can change that: nodeAgent.enabled of the Helm chart)`;
  throw new ServiceError("not_implemented", message, field === undefined ? {} : { field });
}
