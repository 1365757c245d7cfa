import type { PodEvents, PodObserver } from "#life/pod-deps.ts";
import type { EndDeps } from "./write-end.ts";
import type { LastActiveSource } from "#sandbox/last-active-source.ts";
import type { ArmingWatch } from "./arming-watch.ts";
import type { ClaimSight } from "./claim-sight.ts";

export interface TimeoutDeps extends EndDeps {
  readonly arming: ArmingWatch;
  readonly lastActive: LastActiveSource;
  readonly observer: Pick<PodObserver, "exchanged">;
  readonly events: PodEvents;
  readonly limits: TimeoutLimits;
  /** Left out: what is on the pods tells how old claims are. */
  readonly sight?: Pick<ClaimSight, "ageOf">;
}

export interface TimeoutLimits {
  /** For starts where neither request nor pool has a limit: without one a bad image would hold a pod for ever (W7). */
  readonly startupTimeoutMs: number;
  /** How late traffic may become known; idle sandboxes get so much longer. Also how soon those are asked again who could not say. */
  readonly refreshIntervalMs: number;
  /**
   * How long the daemon of a sandbox that is not known to be armed may be silent, while its node says too that it is not ready. After
   * that the sandbox has failed: nobody can have been served by it in all that time.
   */
  readonly daemonSilenceMs: number;
}

export const defaultTimeoutLimits: TimeoutLimits = { startupTimeoutMs: 120_000, refreshIntervalMs: 30_000, daemonSilenceMs: 900_000 };

/**
 * Who knows of a sandbox's traffic where no gateway does. Which of them is meant is for the composition to say: the one ends sandboxes,
 * the other does not.
 *
 * All traffic that there is stands on the pod: whoever serves it writes the annotation, and nobody else could have seen any. A sandbox
 * without it is idle since it was claimed.
 */
export const annotatedActivity: LastActiveSource = { activityOf: async () => ({ kind: "known", inUse: false }) };

/** There is traffic that nobody here sees. Idle timeouts wait until somebody does; end times hold. */
export const unseenActivity: LastActiveSource = { activityOf: async () => ({ kind: "unknown" }) };
