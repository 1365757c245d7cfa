/**
 * Since when this process knows of each idle pod that it is not ready. By its own clock, and no one else's: compared with the times that
 * the server and the nodes write, a clock that is ahead would make every new pod an old one.
 */
import type { ChangeSource } from "#kube/controller/source.ts";
import type { Clock } from "#lib/clock.ts";
import { slotOf } from "#read-model/indexes.ts";
import { podCondition, poolOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";

export class UnreadySince {
  readonly #clock: Clock;
  readonly #since = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Follows the pods. Returns what ends it. */
  follow(pods: ChangeSource<Pod>): () => void {
    const connection = pods.onChange((now, before) => {
      if (now !== undefined && isWaitedFor(now)) this.forMs(now);
      else this.#since.delete(uidOf(now ?? before));
    });
    return () => connection.remove();
  }

  /** For how long. Counts from now on for a pod that was not heard of, and when the clock was set back. */
  forMs(pod: Pod): number {
    const now = this.#clock.now();
    const since = Math.min(now, this.#since.get(uidOf(pod)) ?? now);
    this.#since.set(uidOf(pod), since);
    return now - since;
  }
}

function isWaitedFor(pod: Pod): boolean {
  return poolOf(pod) !== undefined && slotOf(pod) === "idle" && podCondition(pod, "Ready")?.status !== "True";
}

function uidOf(pod: Pod | undefined): string {
  return pod?.metadata.uid ?? "";
}
