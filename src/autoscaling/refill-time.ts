/** How long pods take from the decision to make them until they can be claimed: the slower ones of the latest. */
const kept = 32;
/** Of the latest times, so many in a hundred are shorter. */
const percent = 80;

export class RefillTime {
  readonly #latest: number[] = [];
  readonly #unknownMs: number;

  /** `unknownMs`: what is assumed while none was measured. */
  constructor(unknownMs: number) {
    this.#unknownMs = unknownMs;
  }

  took(ms: number): void {
    this.#latest.push(Math.max(0, ms));
    if (this.#latest.length > kept) this.#latest.shift();
  }

  get ms(): number {
    const sorted = this.#latest.toSorted((one, other) => one - other);
    return sorted[Math.floor((sorted.length * percent) / 100)] ?? sorted.at(-1) ?? this.#unknownMs;
  }
}
