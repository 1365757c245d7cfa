/**
 * An idle pod whose daemon works for somebody was armed too late, for a sandbox that had ended. Whoever got it would be refused, so it is
 * replaced. As it is known now: one that was claimed and armed in the meantime is not idle any more, and stays (I4).
 */
import { keyOf } from "#kube/informer/indexed-store.ts";
import { deletePodAsSeen } from "#lifecycle/delete-pod.ts";
import type { Pod } from "#model/pod.ts";
import { whyNotClaimable } from "#sandbox/claimable.ts";
import type { SandboxClaimsDeps } from "./claim-deps.ts";

export async function replaceArmed(deps: Pick<SandboxClaimsDeps, "client" | "cache" | "clock" | "log">, asked: Pod): Promise<void> {
  const { cache, log } = deps;
  const pod = cache.pods.get(keyOf(asked));
  if (pod === undefined || pod.metadata.uid !== asked.metadata.uid || whyNotClaimable(pod) !== undefined) return;
  try {
    if (await deletePodAsSeen(deps, pod))
      log.warn({ pod: pod.metadata.name }, "an idle pod was armed for an ended sandbox; it is replaced");
  } catch (error) {
    // Whoever claims it meanwhile is told by its daemon, and gives it back.
    log.warn({ pod: pod.metadata.name, error }, "an idle pod that is armed could not be replaced");
  }
}
