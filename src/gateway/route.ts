/** Finds the pod of a sandbox: one index lookup in the shared cache per request. */
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { isClaimed } from "#model/claimed-pod.ts";
import { isDeepPaused } from "#model/deep-pause.ts";
import { isFrozen, pauseWish } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";

export type Route =
  | { readonly kind: "open"; readonly pod: Pod; readonly ip: string }
  /** Frozen, or about to be: nothing in it would answer. */
  | { readonly kind: "paused"; readonly pod: Pod }
  /** Claimed, but its pod has no IP address yet. */
  | { readonly kind: "starting"; readonly pod: Pod }
  /** It never existed, has ended, or is about to end. */
  | { readonly kind: "unknown" };

export function routeOf(cache: Pick<SandboxCache, "podsOfSandbox">, sandboxId: string): Route {
  // A pod that is being deleted takes its sandbox with it. If another pod has the same id, that one is used.
  const pod = cache.podsOfSandbox(sandboxId).find((one) => isClaimed(one) && one.metadata.deletionTimestamp === undefined);
  if (pod === undefined) {
    const deepPaused = cache.podsOfSandbox(sandboxId).find(isDeepPaused);
    return deepPaused === undefined ? { kind: "unknown" } : { kind: "paused", pod: deepPaused };
  }
  if (pauseWish(pod) !== undefined || isFrozen(pod)) return { kind: "paused", pod };
  const ip = pod.status?.podIP;
  // A starting sandbox may be armed before its phase says so; until it is armed, its daemon refuses every request itself.
  if (ip === undefined || ip === "" || pod.status?.phase !== "Running") return { kind: "starting", pod };
  return { kind: "open", pod, ip };
}
