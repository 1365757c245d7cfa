/**
 * How often the plugins are asked for snapshots of a team's members. A plugin may be a program elsewhere that reserves something with each answer, and a request
 * that ends in a refusal, or that puts back what the one before it changed, asks as much as one that is of use. Of each API process.
 */
import type { Clock } from "#lib/clock.ts";
import { TokenBuckets } from "#lib/token-buckets.ts";
import type { Caller } from "../caller.ts";
import { ServiceError } from "../service-error.ts";
import type { LimitGuard } from "./limit-guard.ts";

export interface AdmissionPaceDeps {
  readonly limits: Pick<LimitGuard, "ofTeam">;
  readonly clock: Clock;
}

/** All pools of a team may be made, and made anew, within a minute. */
const timesItsPools = 2;
/** Also for a team that may have no pools. */
const least = 10;

export class AdmissionPace {
  readonly #deps: AdmissionPaceDeps;
  readonly #buckets: TokenBuckets;

  constructor(deps: AdmissionPaceDeps) {
    this.#deps = deps;
    this.#buckets = new TokenBuckets(deps.clock);
  }

  /** For one member. Throws rate_limited with when to try again. */
  take({ role, team }: Caller): void {
    if (role === "admin" || team === "") return;
    const pools = this.#deps.limits.ofTeam(team, "pools");
    if (pools === undefined) return;
    const aMinute = Math.max(least, timesItsPools * pools);
    const wait = this.#buckets.take(team, { perSecond: aMinute / 60, burst: aMinute });
    if (wait === undefined) return;
    const message = `team ${team} may have ${aMinute} members of Envs made, changed or refreshed in a minute (twice its limit pools)`;
    throw new ServiceError("rate_limited", message, { retryAfterSeconds: Math.ceil(wait) });
  }
}
