/**
 * How long this process has known each claim. Startup timeouts are counted from that. The time on the pod comes from the clock of the claiming process; if
 * that clock were behind, sandboxes about to be armed would be ended. A create is never answered later than its startup timeout after its claim. So a
 * process that waits this long since it first saw the claim cannot end a sandbox that its caller still expects.
 */
import type { ChangeSource } from "#kube/controller/source.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import { isClaimed, sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";

interface Seen {
  readonly sandboxId: string | undefined;
  readonly at: number;
}

export class ClaimSight {
  readonly #clock: MonotonicClock;
  /** By uid. */
  readonly #seen = new Map<string, Seen>();

  constructor(clock: MonotonicClock) {
    this.#clock = clock;
  }

  /** Follows the pods. Returns what ends it. */
  follow(pods: ChangeSource<Pod>): () => void {
    const connection = pods.onChange((now, before) => {
      if (now === undefined || !isClaimed(now)) this.#seen.delete((now ?? before)?.metadata.uid ?? "");
      else this.#see(now);
    });
    return () => connection.remove();
  }

  /** In milliseconds; undefined for one that was not seen yet. */
  ageOf(pod: Pod): number | undefined {
    const seen = this.#seen.get(pod.metadata.uid ?? "");
    return seen === undefined || seen.sandboxId !== sandboxIdOf(pod) ? undefined : this.#clock.monotonic() - seen.at;
  }

  #see(pod: Pod): void {
    const { uid = "" } = pod.metadata;
    const sandboxId = sandboxIdOf(pod);
    if (this.#seen.get(uid)?.sandboxId !== sandboxId) this.#seen.set(uid, { sandboxId, at: this.#clock.monotonic() });
  }
}
