/**
 * Pods that end, or are given up, before they were ready once: an image that cannot run, a node that takes nothing. Making others at once
 * would only make a storm of it, so each loss lets the pool wait longer; the first pod made since that becomes ready ends it.
 */
import { type Backoff, backoffMs, type Random } from "#lib/backoff.ts";

export class LossBackoff {
  readonly #backoff: Backoff;
  readonly #random: Random;
  #losses = 0;
  #stillborn = 0;
  #lastAtMs = 0;
  #nextAtMs = 0;

  constructor(backoff: Backoff, random: Random) {
    this.#backoff = backoff;
    this.#random = random;
  }

  /** What the pool's pods tell: how many have ended unready in all, and when the youngest was made that has been ready. */
  observe({ stillborn, newestReadyMs }: { readonly stillborn: number; readonly newestReadyMs: number }, now: number): void {
    if (stillborn > this.#stillborn) this.lost(now);
    this.#stillborn = stillborn;
    // Servers date pods in whole seconds, so one of the same second is taken for younger.
    if (this.#losses > 0 && newestReadyMs >= Math.floor(this.#lastAtMs / 1000) * 1000) this.#losses = this.#nextAtMs = 0;
  }

  /** Some were given up now. */
  lost(now: number): void {
    this.#losses += 1;
    this.#lastAtMs = now;
    this.#nextAtMs = now + backoffMs(this.#backoff, this.#losses, this.#random);
  }

  /** Whether the last pods were lost, and none has become ready since. */
  get isLosing(): boolean {
    return this.#losses > 0;
  }

  /** What was lost says nothing of what is made now: the template has changed. */
  forgive(): void {
    this.#losses = this.#nextAtMs = 0;
  }

  /** How long no pod is to be made or given up; 0 when all is well. */
  waitMs(now: number): number {
    return Math.max(0, this.#nextAtMs - now);
  }
}
