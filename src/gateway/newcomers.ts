/**
 * Sandboxes that another process created a moment ago and that this cache does not show yet: the client's first request may arrive before the watch event.
 * Requests for unknown sandboxes wait for a short time, and only a limited number of them.
 */
import type { Informer } from "#kube/informer/informer.ts";
import type { Clock } from "#lib/clock.ts";
import { isClaimed, sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";

export interface NewcomersDeps {
  readonly pods: Pick<Informer<Pod>, "onChange">;
  readonly clock: Clock;
}

/** Watches are milliseconds late; on an overloaded machine, a second or two. */
const waitMs = 5_000;
/** Limited, because any client can invent ids. */
const mostWaiting = 1_000;

export class Newcomers implements Disposable {
  readonly #clock: Clock;
  readonly #registration: { remove(): void };
  readonly #waiting = new Map<string, Set<() => void>>();
  #count = 0;

  constructor({ pods, clock }: NewcomersDeps) {
    this.#clock = clock;
    this.#registration = pods.onChange((now) => {
      if (this.#count > 0 && now !== undefined && isClaimed(now)) this.#came(sandboxIdOf(now) ?? "");
    });
  }

  /** Resolves with whether it appeared in time. */
  appears(sandboxId: string): Promise<boolean> {
    if (this.#count >= mostWaiting) return Promise.resolve(false);
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(sandboxId) ?? new Set();
      this.#waiting.set(sandboxId, waiting);
      this.#count++;
      const end = (came: boolean): void => {
        timer.cancel();
        waiting.delete(arrive);
        if (waiting.size === 0) this.#waiting.delete(sandboxId);
        this.#count--;
        resolve(came);
      };
      const arrive = (): void => end(true);
      const timer = this.#clock.after(waitMs, () => end(false));
      waiting.add(arrive);
    });
  }

  [Symbol.dispose](): void {
    this.#registration.remove();
  }

  #came(sandboxId: string): void {
    for (const tell of this.#waiting.get(sandboxId) ?? []) tell();
  }
}
