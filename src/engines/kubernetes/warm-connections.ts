/**
 * Connections that are there before they are needed, and stay. A server that has had nothing to do for a minute would begin a burst of creates with
 * as many handshakes, each of which costs it and the API server as much as several writes. They are opened one after another, because a start
 * has other things to do, and each is spoken to before it has been idle for too long.
 */
import type { Clock, Timer } from "#lib/clock.ts";

export interface WarmConnectionsDeps {
  readonly clock: Clock;
  /** How many are open. */
  readonly open: () => number;
  /** Asks for next to nothing. So many at once take as many connections. */
  readonly ask: () => Promise<unknown>;
}

export interface WarmConnectionsOptions {
  readonly count: number;
  /** After so long without a word they are closed. */
  readonly idleMs: number;
}

const growMs = 500;

export class WarmConnections {
  readonly #deps: WarmConnectionsDeps;
  readonly #options: WarmConnectionsOptions;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(deps: WarmConnectionsDeps, options: WarmConnectionsOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#later(growMs);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #later(ms: number): void {
    this.#timer = this.#deps.clock.after(ms, () => void this.#warm());
  }

  /** A server that cannot be reached has no connections to keep; the next call reports that itself. */
  async #warm(): Promise<void> {
    const { count, idleMs } = this.#options;
    const before = this.#deps.open();
    await Promise.allSettled(Array.from({ length: Math.min(before + 1, count) }, () => this.#deps.ask()));
    // Not where the server does not answer, nor behind a proxy, which keeps connections as it likes.
    const isGrowing = this.#deps.open() > before;
    if (!this.#isClosed) this.#later(isGrowing ? growMs : idleMs / 2);
  }
}
