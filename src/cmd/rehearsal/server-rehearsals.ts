import type { MonotonicClock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { SandboxClaims } from "#services/sandbox-claims.ts";
import { Rehearsals } from "./rehearsals.ts";
import { onWholeCollection } from "./whole-collections.ts";

export interface ServerRehearsalsOptions {
  readonly clock: MonotonicClock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly claims: Pick<SandboxClaims, "asked">;
}

/** Of a cluster's server that makes sandboxes. None has begun. */
export function serverRehearsals({ claims, ...deps }: ServerRehearsalsOptions): Rehearsals {
  return new Rehearsals({
    ...deps,
    asked: () => claims.asked(),
    onCollected: onWholeCollection,
    rehearse: async (creates, goesOn) => {
      // A cluster's server needs no object store of its own but for this.
      const { rehearseCreates } = await import("./rehearse-creates.ts");
      return rehearseCreates({ clock: deps.clock, creates, goesOn });
    },
  });
}
