/** Tells requests that are under way when their key ends: by being revoked, in this process or another, or by its time. */
import type { Clock, Timer } from "#lib/clock.ts";

export interface KeyEndsDeps {
  readonly clock: Clock;
  readonly isLive: (id: string) => boolean;
  /** ISO 8601. */
  readonly expiresAt: (id: string) => string | undefined;
}

interface Followed {
  readonly listeners: Set<() => void>;
  timer: Timer | undefined;
}

/** Timers of Node end early when they are longer. */
const longestTimerMs = 2 ** 31 - 1;

export class KeyEnds {
  readonly #deps: KeyEndsDeps;
  readonly #followed = new Map<string, Followed>();

  constructor(deps: KeyEndsDeps) {
    this.#deps = deps;
  }

  /** Returns how to take it back. */
  follow(id: string, ended: () => void): () => void {
    if (!this.#deps.isLive(id)) {
      ended();
      return () => {};
    }
    const followed = this.#followed.get(id) ?? { listeners: new Set(), timer: undefined };
    this.#followed.set(id, followed);
    followed.listeners.add(ended);
    if (followed.timer === undefined) this.#wait(id, followed);
    return () => {
      followed.listeners.delete(ended);
      if (followed.listeners.size === 0 && this.#followed.get(id) === followed) this.#forget(id, followed);
    };
  }

  /** Keys may have ended. */
  check(): void {
    for (const [id, followed] of this.#followed) {
      if (this.#deps.isLive(id)) continue;
      this.#forget(id, followed);
      for (const ended of followed.listeners) ended();
    }
  }

  #wait(id: string, followed: Followed): void {
    const at = Date.parse(this.#deps.expiresAt(id) ?? "");
    if (Number.isNaN(at)) return;
    const ms = Math.min(Math.max(0, at - this.#deps.clock.now()), longestTimerMs);
    followed.timer = this.#deps.clock.after(ms, () => {
      this.check();
      if (this.#followed.get(id) === followed) this.#wait(id, followed);
    });
  }

  #forget(id: string, followed: Followed): void {
    followed.timer?.cancel();
    this.#followed.delete(id);
  }
}
