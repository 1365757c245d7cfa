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
  /** Maximum delay until traffic becomes known; idle sandboxes live that much longer. Also the pause before asking a source again that could not answer. */
  readonly refreshIntervalMs: number;
  /**
   * How long the daemon of a sandbox may be silent if it is not known to be armed and its node reports it as not ready. After that the sandbox has failed:
   * it cannot have served a request in all that time.
   */
  readonly daemonSilenceMs: number;
}

export const defaultTimeoutLimits: TimeoutLimits = { startupTimeoutMs: 120_000, refreshIntervalMs: 30_000, daemonSilenceMs: 900_000 };

/**
 * The source of a sandbox's traffic where this process has no gateway. The composition chooses one: the first allows ending idle sandboxes, the second
 * does not.
 *
 * This one: all traffic stands on the pod, because every process that forwards traffic writes the annotation. A sandbox without it has been idle since its
 * claim.
 */
export const annotatedActivity: LastActiveSource = { activityOf: async () => ({ kind: "known", inUse: false }) };

/** Traffic may exist that no process here sees. Idle timeouts wait until one does; end times apply. */
export const unseenActivity: LastActiveSource = { activityOf: async () => ({ kind: "unknown" }) };
