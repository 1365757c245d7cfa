/** One pool in simulated time: requests arrive, take an idle pod or wait for one, and give it up when their sandbox ends. */
import { EndTimes } from "./end-times.ts";

export interface PoolSight {
  readonly nowMs: number;
  readonly idle: number;
  readonly coming: number;
  readonly claimed: number;
  readonly waiting: number;
}

/** A policy says how many pods there are to be in all. Every policy has a pod made for each waiting request at once. */
export interface SizingPolicy {
  /** It decides when something has changed, and after this at the latest. */
  readonly lookEveryMs: number;
  arrived(nowMs: number): void;
  wanted(sight: PoolSight): number;
}

export interface Load {
  /** In rising order, in milliseconds. */
  readonly arrivals: readonly number[];
  /** How long each sandbox lives. */
  readonly lives: readonly number[];
  readonly refillMs: number;
  readonly lastsMs: number;
  /** Before this, policies learn: nothing is counted but `early`. */
  readonly countFromMs: number;
}

export interface Outcome {
  readonly requests: number;
  readonly misses: number;
  readonly early: { readonly requests: number; readonly misses: number };
  /** Pods that were made: more than requests where a policy makes pods and takes them away again. */
  readonly made: number;
  readonly waitsMs: readonly number[];
  readonly idleSeconds: number;
  readonly busySeconds: number;
  /** Samples for a picture. */
  readonly line: readonly Sample[];
}

export interface Sample {
  readonly atMs: number;
  readonly pods: number;
  readonly claimed: number;
  readonly misses: number;
}

/** Policies decide at most so often, as the product does. */
export const tickMs = 500;

export function simulate(load: Load, policy: SizingPolicy): Outcome {
  const pool = new SimulatedPool(load);
  let next = 0;
  let decidedAt = -Infinity;
  for (let tick = 0; tick < load.lastsMs;) {
    const until = tick + tickMs;
    for (let at = load.arrivals[next]; at !== undefined && at < until; at = load.arrivals[++next]) {
      pool.advance(at);
      pool.arrive(at, load.lives[next] ?? 60_000);
      policy.arrived(at);
    }
    pool.advance(until);
    if (pool.changed() || until - decidedAt >= policy.lookEveryMs) {
      pool.resize(policy.wanted(pool.sight()));
      decidedAt = until;
    }
    // Ticks in which nothing can happen are left out.
    const soon = Math.min(load.arrivals[next] ?? Infinity, pool.nextAtMs, decidedAt + policy.lookEveryMs - tickMs);
    tick = Math.max(until, Math.floor(Math.min(soon, load.lastsMs) / tickMs) * tickMs);
  }
  pool.advance(load.lastsMs);
  return pool.outcome();
}

class SimulatedPool {
  readonly #refillMs: number;
  readonly #sampleMs: number;
  readonly #ready: number[] = [];
  readonly #ends = new EndTimes();
  readonly #waiters: { readonly at: number; readonly life: number }[] = [];
  readonly #countFromMs: number;
  readonly #early = { requests: 0, misses: 0 };
  readonly #waits: number[] = [];
  readonly #line: Sample[] = [];
  #nowMs = 0;
  #idle = 0;
  #idleMs = 0;
  #busyMs = 0;
  #requests = 0;
  #misses = 0;
  #allMisses = 0;
  #made = 0;
  #hasChanged = true;

  constructor({ refillMs, lastsMs, countFromMs }: Load) {
    this.#refillMs = refillMs;
    this.#countFromMs = countFromMs;
    this.#sampleMs = lastsMs / 900;
  }

  /** When the next pod is ready or the next sandbox ends. */
  get nextAtMs(): number {
    return Math.min(this.#ready[0] ?? Infinity, this.#ends.first);
  }

  /** Whether anything happened since this was last asked. */
  changed(): boolean {
    const has = this.#hasChanged;
    this.#hasChanged = false;
    return has;
  }

  advance(toMs: number): void {
    for (let at = this.nextAtMs; at <= toMs; at = this.nextAtMs) {
      this.#pass(at);
      this.#hasChanged = true;
      if (this.#ready[0] === at) {
        this.#ready.shift();
        this.#idle += 1;
        this.#serve(at);
      } else this.#ends.pop();
    }
    this.#pass(toMs);
  }

  arrive(at: number, life: number): void {
    this.#hasChanged = true;
    this.#count(at, this.#idle === 0);
    if (this.#idle > 0) return this.#take(at, { at, life });
    this.#waiters.push({ at, life });
    if (this.#ready.length < this.#waiters.length) this.#order(at);
  }

  #count(at: number, isMiss: boolean): void {
    const missed = isMiss ? 1 : 0;
    this.#allMisses += missed;
    if (at < this.#countFromMs) {
      this.#early.requests += 1;
      this.#early.misses += missed;
      return;
    }
    this.#requests += 1;
    this.#misses += missed;
  }

  resize(wanted: number): void {
    const pods = this.#idle + this.#ready.length + this.#ends.size;
    for (let more = pods; more < wanted; more++) this.#order(this.#nowMs);
    const fewer = Math.max(0, pods - Math.max(wanted, this.#ends.size + this.#waiters.length));
    // As the product does: first those that could not be claimed yet.
    const coming = Math.min(fewer, Math.max(0, this.#ready.length - this.#waiters.length));
    this.#ready.length -= coming;
    this.#idle -= Math.min(this.#idle, fewer - coming);
  }

  sight(): PoolSight {
    return { nowMs: this.#nowMs, idle: this.#idle, coming: this.#ready.length, claimed: this.#ends.size, waiting: this.#waiters.length };
  }

  outcome(): Outcome {
    return {
      requests: this.#requests,
      misses: this.#misses,
      early: this.#early,
      made: this.#made,
      waitsMs: this.#waits,
      idleSeconds: this.#idleMs / 1000,
      busySeconds: this.#busyMs / 1000,
      line: this.#line,
    };
  }

  #pass(toMs: number): void {
    const countedMs = Math.max(0, toMs - Math.max(this.#nowMs, this.#countFromMs));
    this.#idleMs += this.#idle * countedMs;
    this.#busyMs += this.#ends.size * countedMs;
    this.#nowMs = toMs;
    if (toMs - (this.#line.at(-1)?.atMs ?? -Infinity) < this.#sampleMs) return;
    const claimed = this.#ends.size;
    this.#line.push({ atMs: toMs, pods: this.#idle + this.#ready.length + claimed, claimed, misses: this.#allMisses });
  }

  #order(at: number): void {
    if (this.#nowMs >= this.#countFromMs) this.#made += 1;
    this.#ready.push(at + this.#refillMs);
  }

  #serve(at: number): void {
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) this.#take(at, waiter);
  }

  #take(at: number, waiter: { readonly at: number; readonly life: number }): void {
    this.#idle -= 1;
    if (waiter.at >= this.#countFromMs) this.#waits.push(at - waiter.at);
    this.#ends.push(at + waiter.life);
  }
}
