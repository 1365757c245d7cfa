import type { Logger } from "#lib/log.ts";

/** What goes on after its caller has been answered. Whoever ends waits for it. */
export class BackgroundWork {
  readonly #underWay = new Set<Promise<void>>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  get size(): number {
    return this.#underWay.size;
  }

  /** Work handles what may go wrong with it; what it throws is a defect. */
  run(sandboxId: string, work: () => Promise<void>): void {
    const running = work().catch((error: unknown) => this.#log.error({ sandboxId, error }, "work in the background failed"));
    this.#underWay.add(running);
    void running.finally(() => this.#underWay.delete(running));
  }

  /** Also for what is begun meanwhile. */
  async ended(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }
}
