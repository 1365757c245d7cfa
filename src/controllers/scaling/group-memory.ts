/** What the autoscaler remembers of scaling groups, in this process only. What must survive it stands in the pools' status. */
import { ArrivalForecaster } from "#autoscaling/arrivals.ts";
import { RefillTime } from "#autoscaling/refill-time.ts";
import type { ScaleDownSession } from "#autoscaling/scale-down-session.ts";
import { WantedWindow } from "#autoscaling/wanted-window.ts";
import { formatKey, type Key } from "#kube/controller/key.ts";
import type { Clock } from "#lib/clock.ts";
import type { ScalingPace } from "./scaling-deps.ts";

export interface GroupMemory {
  /** Since when this process has watched the group. */
  readonly watchedSinceMs: number;
  readonly arrivals: ArrivalForecaster;
  readonly refill: RefillTime;
  readonly wanted: WantedWindow;
  /** By pool: its latest create. */
  readonly createdAtMs: Map<string, number>;
  /** By pool: scale-downs that are under way. */
  readonly sessions: Map<string, ScaleDownSession>;
  /** By pool: when the text of a decision was last written. */
  readonly toldAtMs: Map<string, number>;
}

export class GroupMemories {
  readonly #clock: Clock;
  readonly #pace: ScalingPace;
  /** By Env, then by group. */
  readonly #groups = new Map<string, Map<string, GroupMemory>>();
  readonly #decidedAtMs = new Map<string, number>();

  constructor(clock: Clock, pace: ScalingPace) {
    this.#clock = clock;
    this.#pace = pace;
  }

  of(env: Key, group: string): GroupMemory {
    const key = formatKey(env);
    let groups = this.#groups.get(key);
    if (groups === undefined) this.#groups.set(key, (groups = new Map()));
    const there = groups.get(group);
    if (there !== undefined) return there;
    const watchedSinceMs = this.#clock.now();
    const fresh: GroupMemory = {
      watchedSinceMs,
      arrivals: new ArrivalForecaster(watchedSinceMs),
      refill: new RefillTime(this.#pace.unknownRefillMs),
      wanted: new WantedWindow(),
      createdAtMs: new Map(),
      sessions: new Map(),
      toldAtMs: new Map(),
    };
    groups.set(group, fresh);
    return fresh;
  }

  /** How long a decision about the Env has to wait; from now on it counts as decided when that is 0. */
  paceMs(env: Key): number {
    const [key, now] = [formatKey(env), this.#clock.now()];
    const waitMs = (this.#decidedAtMs.get(key) ?? -Infinity) + this.#pace.decideEveryMs - now;
    if (waitMs > 0) return waitMs;
    this.#decidedAtMs.set(key, now);
    return 0;
  }

  /** Keeps only these groups of the Env; none when it is gone. */
  keep(env: Key, groups: readonly string[]): readonly string[] {
    const known = this.#groups.get(formatKey(env));
    const gone = [...(known?.keys() ?? [])].filter((name) => !groups.includes(name));
    for (const name of gone) known?.delete(name);
    if (groups.length === 0) {
      this.#groups.delete(formatKey(env));
      this.#decidedAtMs.delete(formatKey(env));
    }
    return gone;
  }
}
