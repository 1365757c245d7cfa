/**
 * Sees to it that connections of a slot's last user are forgotten before the next one comes. A list of one address' connections takes the kernel
 * some 10 ms, because it goes through its whole table: so each slot is looked at once for each use, and not while a create waits.
 */
import type { Clock, Timer } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";

export interface FormerConnectionsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether the slot's port is still there: as long as it is, new connections are possible. */
  readonly hasPort: (slot: number) => Promise<boolean>;
  readonly forget: (slot: number) => Promise<void>;
}

const calmMs = 1000;

export class FormerConnections {
  readonly #options: FormerConnectionsOptions;
  readonly #removed = new Set<number>();
  /** Slots without a port and without old connections. Empty at first: an earlier process may have left connections of any slot. */
  readonly #forgotten = new Set<number>();
  #timer: Timer | undefined;
  #working: Promise<void> | undefined;
  #closed = false;

  constructor(options: FormerConnectionsOptions) {
    this.#options = options;
  }

  /** For a slot that has just been given a new port, so that its former one is gone. */
  async forgetNow(slot: number): Promise<void> {
    this.#removed.delete(slot);
    if (!this.#forgotten.delete(slot)) await this.#options.forget(slot);
  }

  /** For a slot that has been removed: the table of connections is the whole machine's, so it is not kept until the next use. */
  forgetSoon(slot: number): void {
    this.#removed.add(slot);
    this.#later();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#working;
  }

  #later(): void {
    if (this.#closed || this.#timer !== undefined) return;
    this.#timer = this.#options.clock.after(calmMs, () => {
      this.#working = this.#work().finally(() => {
        this.#timer = undefined;
        if (this.#removed.size > 0) this.#later();
      });
    });
  }

  async #work(): Promise<void> {
    const { hasPort, forget, log } = this.#options;
    for (const slot of this.#removed) {
      if (this.#closed) return;
      try {
        if (await hasPort(slot)) continue;
        await forget(slot);
        // If it has been given a port meanwhile, that use counts: it is no longer in the list.
        if (this.#removed.delete(slot)) this.#forgotten.add(slot);
      } catch (error) {
        this.#removed.delete(slot);
        log.warn({ error, slot }, "could not make the firewall forget the connections of a removed slot");
      }
    }
  }
}
