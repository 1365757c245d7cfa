/**
 * For how long this process has known each sandbox. Starts are timed by it: whoever claimed the pod wrote his time of day on it, and a
 * clock that is ahead of his would end sandboxes that are about to be armed, and be answered. Nobody answers a create later than its
 * startup timeout after its claim, however the clocks go; so who waits as long from the claim that he saw himself takes it from nobody.
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
