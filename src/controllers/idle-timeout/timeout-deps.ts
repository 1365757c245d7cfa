import type { PodEvents, PodObserver } from "#controllers/pod/pod-deps.ts";
import type { ReleaseDeps } from "#lifecycle/release-sandbox.ts";
import type { LastActiveSource } from "#sandbox/last-active-source.ts";
import type { ArmingWatch } from "./arming-watch.ts";
import type { ClaimSight } from "./claim-sight.ts";

export interface TimeoutDeps extends ReleaseDeps {
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
