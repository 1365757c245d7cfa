/**
 * Pauses and resumes that were done a moment ago. Of several requests at once, one does it and the others find it done: they wanted the same and came
 * before the end of it, so they succeed as it did. A request that comes later is told that there was nothing to do.
 */
import type { FastifyReply } from "fastify";

/** No request is under way for longer than this before it looks. */
const keptMs = 60_000;

export class JustDone {
  readonly #done = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  note(change: "pause" | "resume", sandboxId: string): void {
    const now = this.#now();
    // Behind the others, so that the oldest come first.
    this.#done.delete(`${change} ${sandboxId}`);
    this.#done.set(`${change} ${sandboxId}`, now);
    for (const [key, at] of this.#done) {
      if (now - at <= keptMs) break;
      this.#done.delete(key);
    }
  }

  /** Whether it was done after the request had come. */
  isSince(change: "pause" | "resume", sandboxId: string, { elapsedTime }: Pick<FastifyReply, "elapsedTime">): boolean {
    return (this.#done.get(`${change} ${sandboxId}`) ?? -Infinity) >= this.#now() - elapsedTime;
  }
}
