/**
 * Learns how many spare pods are worth their cost in which situation.
 *
 * A request that arrives at time t finds a pod if fewer than `spare` others arrived within the refill time before it: each of those took a
 * pod whose successor is still on its way, unless the pod itself has come back meanwhile. So every arrival has a *need*: itself, and the
 * arrivals of the refill time before it whose pods are still out. What could
 * be known when its pod had to be ordered is the *situation* one refill time earlier. For every situation this keeps how long it lasted and
 * how often each need followed it. A spare pod more in a situation costs the time that the situation lasts, and saves the arrivals with just
 * that need. The most saving ones are taken until the wanted share of arrivals is covered: no other choice by situation covers
 * as many arrivals with fewer idle pods, whatever the arrivals look like (bursts, steady streams, long silence).
 *
 * Older experience counts less, by half every half-life. Memory is bounded: situations and needs are steps of a logarithmic scale.
 */

/** A step of the situation: an integer. */
export type Situation = number;

interface Experience {
  /** Weighted seconds. */
  lasted: number;
  /** Weighted arrivals by step of their need. */
  readonly needs: number[];
}

const halfLifeMs = 12 * 3_600_000;

export class NeededSpare {
  readonly #experience = new Map<Situation, Experience>();
  readonly #startMs: number;
  #shift = 0;

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  lasted(situation: Situation, ms: number, nowMs: number): void {
    this.#of(situation).lasted += (ms / 1000) * this.#weight(nowMs);
  }

  arrived(situation: Situation, need: number, nowMs: number): void {
    const { needs } = this.#of(situation);
    const step = stepOfNeed(need);
    while (needs.length <= step) needs.push(0);
    needs[step] = (needs[step] ?? 0) + this.#weight(nowMs);
  }

  /** Experience with a situation, in seconds of now. */
  secondsIn(situation: Situation, nowMs: number): number {
    return (this.#experience.get(situation)?.lasted ?? 0) / this.#weight(nowMs);
  }

  /** How many arrivals followed the situation, in arrivals of now. */
  arrivalsIn(situation: Situation, nowMs: number): number {
    return totalOf(this.#experience.get(situation)?.needs ?? []) / this.#weight(nowMs);
  }

  /** How many arrivals it knows of. */
  arrivals(nowMs: number): number {
    let sum = 0;
    for (const { needs } of this.#experience.values()) sum += totalOf(needs);
    return sum / this.#weight(nowMs);
  }

  /**
   * Spare pods by situation that cover this share of the arrivals; situations for which `isOpen` does not hold have none, and no pod is taken
   * that saves fewer arrivals than `worthPerSecond` for each second that it is idle.
   */
  table({ share, worthPerSecond, isOpen, nowMs }: TableWish): ReadonlyMap<Situation, number> {
    const gains: Gain[] = [];
    const open = new Map([...withNeighbours(this.#experience, this.#weight(nowMs))].filter(([situation]) => isOpen(situation)));
    let left = 0;
    for (const [situation, experience] of open) {
      left += share * totalOf(experience.needs);
      gains.push(...gainsOf(situation, experience));
    }
    gains.sort((one, other) => other.perSecond - one.perSecond);
    const table = new Map<Situation, number>();
    for (const { situation, from, to, arrivals, perSecond } of gains) {
      if (left <= 1e-9 || perSecond < worthPerSecond) break;
      // Of the last one a part may be enough.
      table.set(situation, arrivals <= left ? to : coveringNeed(open.get(situation)?.needs ?? [], from, left));
      left -= arrivals;
    }
    return table;
  }

  #of(situation: Situation): Experience {
    const there = this.#experience.get(situation);
    if (there !== undefined) return there;
    const fresh: Experience = { lasted: 0, needs: [] };
    this.#experience.set(situation, fresh);
    return fresh;
  }

  /** Instead of making everything older smaller, what is new counts more. */
  #weight(nowMs: number): number {
    const halves = (nowMs - this.#startMs) / halfLifeMs - this.#shift;
    if (halves > 32) this.#rescale(halves);
    return 2 ** ((nowMs - this.#startMs) / halfLifeMs - this.#shift);
  }

  #rescale(halves: number): void {
    this.#shift += halves;
    for (const [situation, experience] of this.#experience) {
      experience.lasted /= 2 ** halves;
      for (let step = 0; step < experience.needs.length; step++) experience.needs[step] = (experience.needs[step] ?? 0) / 2 ** halves;
      if (experience.lasted < 1e-9) this.#experience.delete(situation);
    }
  }
}

/** How many pods, more than `from`, cover so many of the arrivals. */
function coveringNeed(needs: readonly number[], from: number, arrivals: number): number {
  let left = arrivals;
  return needOfStep(needs.findIndex((count, step) => needOfStep(step) > from && (left -= count) <= 1e-9));
}

export interface TableWish {
  readonly share: number;
  readonly worthPerSecond: number;
  readonly isOpen: (situation: Situation) => boolean;
  readonly nowMs: number;
}

/** Experience of this many clusters of arrivals is borrowed. */
const borrowedClusters = 20;

/**
 * Each situation's experience, and what it borrows from others: nearer ones count more, by half for each step. Without that, a situation
 * that was seen for a while, by chance without a burst, would count as free of bursts. It borrows as much as some clusters of arrivals
 * take on average: soon of no weight where arrivals are independent, for long where they come in rare bursts.
 */
function withNeighbours(known: ReadonlyMap<Situation, Experience>, weight: number): ReadonlyMap<Situation, Experience> {
  const blended = new Map<Situation, Experience>();
  const order = [...known.keys()].sort((one, other) => one - other);
  let [lasted, clusters] = [0, 0];
  for (const experience of known.values()) {
    lasted += experience.lasted;
    clusters += experience.needs[1] ?? 0;
  }
  const most = (borrowedClusters * lasted * weight) / Math.max(clusters, weight);
  for (const situations of [order, order.toReversed()]) {
    let near: Experience = { lasted: 0, needs: [] };
    let before = situations[0] ?? 0;
    for (const situation of situations) {
      near = scaled(near, 0.5 ** Math.abs(situation - before));
      before = situation;
      const own = known.get(situation) ?? near;
      const there = blended.get(situation) ?? { lasted: 0, needs: [] };
      blended.set(situation, added(there, near));
      near = added(near, own);
    }
  }
  for (const [situation, near] of blended) {
    const own = known.get(situation);
    if (own !== undefined) blended.set(situation, added(own, scaled(near, Math.min(1, most / Math.max(near.lasted, 1e-9)))));
  }
  return blended;
}

function scaled({ lasted, needs }: Experience, by: number): Experience {
  return { lasted: lasted * by, needs: needs.map((count) => count * by) };
}

function added(one: Experience, other: Experience): Experience {
  const [long, short] = one.needs.length >= other.needs.length ? [one.needs, other.needs] : [other.needs, one.needs];
  return { lasted: one.lasted + other.lasted, needs: long.map((count, step) => count + (short[step] ?? 0)) };
}

function totalOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** To go from `from` to `to` spare pods in a situation saves so many arrivals. */
interface Gain {
  readonly situation: Situation;
  readonly from: number;
  readonly to: number;
  readonly arrivals: number;
  readonly perSecond: number;
}

/** The gains of one situation, each worth less for its cost than the one before: neighbours are joined until it is so. */
function gainsOf(situation: Situation, { lasted, needs }: Experience): readonly Gain[] {
  const gains: Gain[] = [];
  let from = 0;
  needs.forEach((arrivals, step) => {
    if (arrivals <= 0) return;
    const to = needOfStep(step);
    let gain = gainOf({ situation, from, to, arrivals }, lasted);
    for (let last = gains.at(-1); last !== undefined && last.perSecond <= gain.perSecond; last = gains.at(-1)) {
      gains.pop();
      gain = gainOf({ situation, from: last.from, to: gain.to, arrivals: last.arrivals + gain.arrivals }, lasted);
    }
    gains.push(gain);
    from = to;
  });
  return gains;
}

function gainOf(gain: Omit<Gain, "perSecond">, lasted: number): Gain {
  return { ...gain, perSecond: gain.arrivals / ((gain.to - gain.from) * Math.max(lasted, 1e-3)) };
}

/** Needs up to this are kept apart; larger ones in eight steps for each doubling. */
const exact = 64;
const maxSteps = exact + 8 * 14;

function stepOfNeed(need: number): number {
  if (need <= exact) return Math.max(1, need);
  return Math.min(maxSteps, exact + Math.ceil(8 * Math.log2(need / exact)));
}

function needOfStep(step: number): number {
  return step <= exact ? step : Math.ceil(exact * 2 ** ((step - exact) / 8));
}
