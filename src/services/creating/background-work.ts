import type { Logger } from "#lib/log.ts";

/** Work in progress: creates, and what continues after their callers have been answered. Shutdown waits for it. */
export class BackgroundWork {
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Work handles what may go wrong with it; what it throws is a defect. */
  run(sandboxId: string, work: () => Promise<void>): void {
    void this.follow(work().catch((error: unknown) => this.#log.error({ sandboxId, error }, "work in the background failed")));
  }

  /** Adds work that another caller waits for. */
  async follow<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }

  /** Also for what is begun meanwhile. */
  async ended(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }
}
