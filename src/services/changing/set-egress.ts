/**
 * Changes where a running sandbox may connect to. The wish is one conditional write (model/egress-policy.ts); it is answered when the node
 * judges every packet by it, those of open connections too.
 */
import type { EngineAbilities } from "#engine-port/abilities.ts";
import { abortable } from "#lib/abortable.ts";
import type { Clock } from "#lib/clock.ts";
import { isClaimed, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { type EgressPolicy, egressPolicyText, egressWish, isEgressApplied } from "#model/egress-policy.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { PodChange } from "#sandbox/pod-patch.ts";
import type { Caller } from "#services/caller.ts";
import type { Wanted } from "#services/inside/carried-pod.ts";
import { type ChangeDeps, changeSandbox } from "./change-sandbox.ts";
import { checkEgress } from "#services/creating/check-abilities.ts";
import { findPod, noSuchSandbox } from "#services/reading/find-sandbox.ts";
import type { LiveSandboxes } from "#services/reading/live-sandboxes.ts";
import type { EgressChange, SandboxView } from "#services/sandbox-service.ts";
import { viewOf } from "#services/reading/sandbox-view.ts";
import { ServiceError } from "#services/service-error.ts";

export interface EgressDeps extends ChangeDeps {
  readonly live: Pick<LiveSandboxes, "follow">;
  readonly clock: Clock;
  readonly abilities: Pick<EngineAbilities, "egress">;
}

/** A node does it in milliseconds; one that takes longer has other troubles, and does it later. */
const timeoutMs = 30_000;

export async function setEgress(deps: EgressDeps, caller: Caller, sandboxId: string, change: EgressChange): Promise<SandboxView> {
  const { egress, signal } = change;
  checkEgress(egress, deps.abilities);
  const wanted: Wanted = { caller, sandboxId, wish: "changing its network" };
  await changeSandbox(deps, wanted, (pod) => decide(pod, egress), signal);
  const view = viewOf(await inForce(deps, wanted, signal));
  if (view === undefined) throw noSuchSandbox(sandboxId);
  return view;
}

function decide(pod: Pod, egress: EgressPolicy | undefined): PodChange | undefined {
  if (sandboxPhaseOf(pod) !== "running") {
    throw new ServiceError("conflict", "the sandbox is starting: its network can be changed once it runs");
  }
  const text = egress === undefined ? undefined : egressPolicyText(egress);
  if (text === egressWish(pod)) return undefined;
  return text === undefined
    ? { removeAnnotations: [annotationKeys.egressPolicy] }
    : { annotations: { [annotationKeys.egressPolicy]: text } };
}

/** The pod, once its node has confirmed the current wish, whichever request wrote it. */
async function inForce(deps: EgressDeps, { caller, sandboxId }: Wanted, signal: AbortSignal): Promise<Pod> {
  const { promise, resolve, reject } = Promise.withResolvers<Pod>();
  const look = (): void => {
    const pod = findPod(deps, caller, sandboxId);
    if (pod === undefined || !isClaimed(pod)) reject(new ServiceError("conflict", `sandbox ${sandboxId} has ended meanwhile`));
    else if (isEgressApplied(pod)) resolve(pod);
  };
  const unfollow = deps.live.follow(sandboxId, look);
  const late = new ServiceError("timeout", "the change of the network is asked for, and the node has not made it yet");
  const timer = deps.clock.after(timeoutMs, () => reject(late));
  try {
    look();
    return await abortable(promise, signal);
  } finally {
    unfollow();
    timer.cancel();
  }
}
