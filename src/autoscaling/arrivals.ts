/** What mode Demand remembers of the arrivals of one group, and the spare pods that follow from it. Memory is bounded. */
import { countQuantile, poissonQuantile } from "./coverage.ts";
import { DailyPattern } from "./daily-pattern.ts";
import type { ArrivalForecast } from "./group.ts";
import { NeededSpare, type Situation } from "./needed-spare.ts";
import { RecentTimes } from "./recent-times.ts";
import { WantedWindow } from "./wanted-window.ts";

export interface ForecastWish {
  readonly nowMs: number;
  /** From the decision to make a pod until it can be claimed. */
  readonly refillMs: number;
  readonly coveragePercent: number;
  /** After so long without a request no spare pods are kept; 0: they are always kept. */
  readonly emptyAfterMs: number;
}

/** With fewer arrivals than these, the assumption about their distribution is better than the experience. */
const enoughArrivals = 30;
/** So long a situation must have lasted, or so many arrivals must have followed it, before its experience is trusted. */
const enoughSeconds = 60;
/** The table is made anew after this. */
const tableMs = 2_000;
/** A usual rush is prepared for so long before it begins. */
const aheadMs = 60_000;
const steadyMs = 600_000;
const burstMs = 10_000;
const burstRefills = 4;
/** Spare pods stay for so many refill times: a rush has pauses. */
const heldRefills = 4;

export class ArrivalForecaster {
  readonly #times: RecentTimes;
  /** Those whose pods have not come back yet. */
  readonly #out: RecentTimes;
  readonly #needed: NeededSpare;
  readonly #daily: DailyPattern;
  readonly #ordered = new WantedWindow();
  readonly #startMs: number;
  #atMs: number;
  #refillMs = 1_000;
  /** How much more than expected came within a refill time, on average: 0 for independent arrivals. */
  #excess = 0;
  #known: { readonly table: ReadonlyMap<Situation, number>; readonly key: string; readonly atMs: number } | undefined;

  constructor(startMs: number) {
    this.#startMs = startMs;
    this.#atMs = startMs;
    this.#times = new RecentTimes();
    this.#out = new RecentTimes();
    this.#needed = new NeededSpare(startMs);
    this.#daily = new DailyPattern(startMs);
  }

  get lastAtMs(): number | undefined {
    return this.#times.last;
  }

  /** Times must not fall; one that does counts as now. Returns the time at which the arrival is booked. */
  arrived(nowMs: number): number {
    const atMs = Math.max(nowMs, this.#atMs);
    this.#advance(atMs);
    const orderedAtMs = atMs - this.#refillMs;
    const others = this.#out.count(orderedAtMs, atMs);
    const situation = this.#situationAt(orderedAtMs);
    this.#needed.arrived(situation, 1 + others, atMs);
    this.#excess += 0.02 * (others - this.#takenIn(atMs) - this.#excess);
    const keepFromMs = atMs - Math.max(steadyMs, this.#burstMs + this.#refillMs);
    this.#times.add(atMs, keepFromMs);
    this.#out.add(atMs, keepFromMs);
    this.#daily.arrived(atMs);
    return atMs;
  }

  /** The pod of the arrival that was booked at `arrivedAtMs` can be claimed again: the next requests need no other in its place. */
  returned(arrivedAtMs: number): void {
    this.#out.remove(arrivedAtMs);
  }

  forecast({ nowMs: now, refillMs, coveragePercent, emptyAfterMs }: ForecastWish): ArrivalForecast {
    const nowMs = Math.max(now, this.#atMs);
    this.#refillMs = Math.max(1, refillMs);
    this.#advance(nowMs);
    const share = coveragePercent / 100;
    const silentMs = nowMs - (this.#times.last ?? this.#startMs);
    const usual = this.#usualSpare(nowMs, share);
    const perSecond = Math.max(this.#burstRate(nowMs), this.#times.count(nowMs - steadyMs, nowMs) / (steadyMs / 1000));
    const isSilent = emptyAfterMs > 0 && silentMs >= emptyAfterMs;
    const spare = isSilent ? usual : Math.max(usual, this.#learnedSpare(nowMs, share, emptyAfterMs));
    // Pods are ordered for requests that come one refill time later: until then they stay, whatever the situation is meanwhile.
    this.#ordered.note(spare, nowMs);
    return { refillMs, spare: isSilent ? spare : this.#ordered.largest(heldRefills * this.#refillMs, nowMs), perSecond };
  }

  #learnedSpare(nowMs: number, share: number, emptyAfterMs: number): number {
    const situation = this.#situationAt(nowMs);
    // While little is known, one pod is kept for the next request.
    if (this.#needed.arrivals(nowMs) < enoughArrivals) return Math.max(1, this.#assumedSpare(nowMs, share));
    const table = this.#table(nowMs, share, emptyAfterMs);
    if (this.#isKnown(situation, nowMs)) return table.get(situation) ?? 0;
    return Math.max(this.#learnedNearby(table, situation, nowMs), this.#assumedSpare(nowMs, share));
  }

  #isKnown(situation: Situation, nowMs: number): boolean {
    return this.#needed.secondsIn(situation, nowMs) >= enoughSeconds || this.#needed.arrivalsIn(situation, nowMs) >= enoughArrivals;
  }

  /** A situation that is new is taken for the nearest known one: a silence for a shorter one, a rush for a smaller one. */
  #learnedNearby(table: ReadonlyMap<Situation, number>, situation: Situation, nowMs: number): number {
    const step = situation >= 0 ? -1 : 1;
    for (let near = situation; near >= -20 && near <= 20; near += step) if (this.#isKnown(near, nowMs)) return table.get(near) ?? 0;
    return 0;
  }

  #table(nowMs: number, share: number, emptyAfterMs: number): ReadonlyMap<Situation, number> {
    const key = `${share} ${emptyAfterMs}`;
    if (this.#known?.key === key && nowMs - this.#known.atMs < tableMs) return this.#known.table;
    const lastOpen = emptyAfterMs === 0 ? Infinity : silenceStep(emptyAfterMs);
    const table = this.#needed.table({
      share,
      worthPerSecond: emptyAfterMs === 0 ? 0 : 1000 / emptyAfterMs,
      isOpen: (situation) => situation < 0 || situation <= lastOpen,
      nowMs,
    });
    this.#known = { table, key, atMs: nowMs };
    return table;
  }

  /** As if arrivals went on as in the latest seconds, independently or in clusters as large as those seen. */
  #assumedSpare(nowMs: number, share: number): number {
    const mean = this.#takenIn(nowMs);
    if (mean === 0) return 0;
    return 1 + countQuantile(mean, mean * (1 + Math.min(Math.max(0, this.#excess), 100)), share);
  }

  /** For what comes at this time on most days, also after a long silence. */
  #usualSpare(nowMs: number, share: number): number {
    const { perSecond, days, usual } = this.#daily.usual(nowMs, nowMs + this.#refillMs + aheadMs);
    if (days < 2 || usual < 0.6) return 0;
    return Math.max(1, poissonQuantile(perSecond * (this.#refillMs / 1000), share));
  }

  get #burstMs(): number {
    return Math.max(burstMs, burstRefills * this.#refillMs);
  }

  #burstRate(nowMs: number): number {
    return this.#times.count(nowMs - this.#burstMs, nowMs) / (this.#burstMs / 1000);
  }

  /**
   * Pods that requests take within a refill time without bringing them back, by the latest seconds. Over the whole window also right
   * after the very first request: thirty requests at once are no rate yet that goes on.
   */
  #takenIn(nowMs: number): number {
    return (this.#out.count(nowMs - this.#burstMs, nowMs) * this.#refillMs) / this.#burstMs;
  }

  /** Negative: so busy the latest seconds were. From 0 on: so long there was silence. */
  #situationAt(atMs: number): Situation {
    const count = this.#times.count(atMs - this.#burstMs, atMs);
    if (count > 0) return -1 - Math.floor(Math.log2(count));
    return silenceStep(atMs - (this.#times.lastBefore(atMs) ?? this.#startMs));
  }

  /** Books the time since the last look on the situations that it was spent in. */
  #advance(nowMs: number): void {
    this.#daily.advance(nowMs);
    while (this.#atMs < nowMs) {
      const until = Math.min(nowMs, this.#nextChangeMs());
      this.#needed.lasted(this.#situationAt(this.#atMs), until - this.#atMs, nowMs);
      this.#atMs = until;
    }
  }

  #nextChangeMs(): number {
    const oldest = this.#times.firstAfter(this.#atMs - this.#burstMs);
    if (oldest !== undefined) return Math.max(this.#atMs + 1, oldest + this.#burstMs);
    const since = this.#times.last ?? this.#startMs;
    return Math.max(this.#atMs + 1, since + silenceEndsMs(silenceStep(this.#atMs - since)));
  }
}

/** Steps of silence: under ten seconds, twenty, forty, and so on. */
function silenceStep(ms: number): Situation {
  return ms < burstMs ? 0 : Math.min(20, 1 + Math.floor(Math.log2(ms / burstMs)));
}

function silenceEndsMs(step: Situation): number {
  return step >= 20 ? Infinity : burstMs * 2 ** step;
}
