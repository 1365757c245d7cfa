/**
 * State about nodes and resting pods: when pods of a node were last claimed (the pods themselves say so, for claims of any process), when the last
 * recycling began, and which ends were seen to be complete.
 */
import type { ChangeSource } from "#kube/controller/source.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import { isClaimed, isResting, sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";

interface Times {
  readonly claimedAt: number;
  readonly recycledAt: number;
}

const never: Times = { claimedAt: Number.NEGATIVE_INFINITY, recycledAt: Number.NEGATIVE_INFINITY };
/** Nodes come and go; of so many the latest are remembered. */
const mostNodes = 10_000;

export class RestMemory {
  readonly #clock: MonotonicClock;
  readonly #times = new Map<string, Times>();
  /** Pod to sandbox. */
  readonly #ended = new Map<string, string>();

  constructor(clock: MonotonicClock) {
    this.#clock = clock;
  }

  /** Follows the pods. Returns what ends it. */
  follow(pods: ChangeSource<Pod>): () => void {
    const connection = pods.onChange((now, before) => {
      if (now === undefined || !isResting(now)) this.#ended.delete((now ?? before)?.metadata.uid ?? "");
      if (now !== undefined && before !== undefined && isClaimed(now) && !isClaimed(before)) {
        this.#set(now, { claimedAt: this.#clock.monotonic() });
      }
    });
    return () => connection.remove();
  }

  /** Milliseconds; for ever where it never was. */
  sinceClaim(node: string): number {
    return this.#clock.monotonic() - (this.#times.get(node) ?? never).claimedAt;
  }

  sinceRecycling(node: string): number {
    return this.#clock.monotonic() - (this.#times.get(node) ?? never).recycledAt;
  }

  recycled(pod: Pod): void {
    this.#set(pod, { recycledAt: this.#clock.monotonic() });
  }

  haveProcessesEnded(pod: Pod): boolean {
    return this.#ended.get(pod.metadata.uid ?? "") === sandboxIdOf(pod);
  }

  processesEnded(pod: Pod): void {
    this.#ended.set(pod.metadata.uid ?? "", sandboxIdOf(pod) ?? "");
  }

  #set({ spec: { nodeName = "" } }: Pod, times: Partial<Times>): void {
    const before = this.#times.get(nodeName) ?? never;
    // The latest stands last.
    this.#times.delete(nodeName);
    this.#times.set(nodeName, { ...before, ...times });
    const [oldest] = this.#times.keys();
    if (this.#times.size > mostNodes && oldest !== undefined) this.#times.delete(oldest);
  }
}
