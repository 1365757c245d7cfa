/** How many requests are usual at which time of the day (UTC): the mean of earlier days, the latest counting most. */
const binMs = 15 * 60_000;
const bins = 96;
/** Share of the latest day in the mean. */
const latest = 0.3;

interface Bin {
  mean: number;
  /** Share of the days on which there was any. */
  usual: number;
  days: number;
}

export interface UsualArrivals {
  readonly perSecond: number;
  /** Days that it is known from. */
  readonly days: number;
  /** Share of the days on which requests came at this time. */
  readonly usual: number;
}

export class DailyPattern {
  readonly #bins: (Bin | undefined)[] = [];
  #current: number;
  #count = 0;
  /** The first bin was seen in part only. */
  #isWhole = false;

  constructor(startMs: number) {
    this.#current = Math.floor(startMs / binMs);
  }

  arrived(nowMs: number): void {
    this.advance(nowMs);
    this.#count += 1;
  }

  advance(nowMs: number): void {
    const now = Math.floor(nowMs / binMs);
    // After a jump of the clock, whole days of nothing would say nothing new.
    const from = Math.max(this.#current, now - bins);
    for (let bin = from; bin < now; bin++) this.#close(bin);
    this.#current = Math.max(this.#current, now);
  }

  /** The busiest usual rate between these times. */
  usual(fromMs: number, toMs: number): UsualArrivals {
    let most: UsualArrivals = { perSecond: 0, days: 0, usual: 0 };
    for (let bin = Math.floor(fromMs / binMs); bin <= Math.floor(toMs / binMs); bin++) {
      const there = this.#bins[bin % bins];
      if (there !== undefined && there.mean / (binMs / 1000) >= most.perSecond) {
        most = { perSecond: there.mean / (binMs / 1000), days: there.days, usual: there.usual };
      }
    }
    return most;
  }

  #close(bin: number): void {
    const count = this.#count;
    this.#count = 0;
    if (!this.#isWhole) {
      this.#isWhole = true;
      return;
    }
    const before = this.#bins[bin % bins] ?? { mean: count, usual: count > 0 ? 1 : 0, days: 0 };
    this.#bins[bin % bins] = {
      mean: before.mean + latest * (count - before.mean),
      usual: before.usual + latest * ((count > 0 ? 1 : 0) - before.usual),
      days: before.days + 1,
    };
  }
}
