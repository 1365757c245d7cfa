import type { TrafficLog } from "#gateway/activity.ts";
import type { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import { isClaimed } from "#model/claimed-pod.ts";
import type { SandboxServiceDeps } from "#services/open-sandbox-service.ts";

/**
 * Commands and terminals as traffic like any other, which is written to the pod: whoever ends idle sandboxes does it in another
 * process, and knows only what stands there.
 */
export function execTraffic(cache: Pick<SandboxCache, "podsOfSandbox">, traffic: TrafficLog): SandboxServiceDeps["activity"] {
  return {
    begin: (sandboxId) => {
      const pod = cache.podsOfSandbox(sandboxId).find(isClaimed);
      return pod === undefined ? () => {} : traffic.begin(sandboxId, pod);
    },
  };
}
