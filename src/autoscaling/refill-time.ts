/**
 * How long pods take from the decision to make them until they can be claimed: the slower ones of the latest. Of pods that are made together
 * only the quickest counts. The others waited for each other, so their times grow with their number; a spare that is sized for such a time
 * makes yet more pods at once.
 */
const kept = 32;
/** Of the latest times, so many in a hundred are shorter. */
const percent = 80;
/** Pods that are made in the same second are made together. */
const togetherMs = 1_000;

export class RefillTime {
  /** The times that count, by the second in which the pods were made, in the order in which they were measured. */
  readonly #latest = new Map<number, number>();
  readonly #unknownMs: number;

  /** `unknownMs`: what is assumed while none was measured. */
  constructor(unknownMs: number) {
    this.#unknownMs = unknownMs;
  }

  /** The pod that was made at `madeAtMs` can be claimed after `ms`. */
  took(ms: number, madeAtMs: number): void {
    const second = Math.floor(madeAtMs / togetherMs);
    if (this.#latest.has(second)) return;
    this.#latest.set(second, Math.max(0, ms));
    if (this.#latest.size > kept) this.#latest.delete(this.#latest.keys().next().value ?? second);
  }

  get ms(): number {
    const sorted = [...this.#latest.values()].sort((one, other) => one - other);
    return sorted[Math.floor((sorted.length * percent) / 100)] ?? sorted.at(-1) ?? this.#unknownMs;
  }
}
