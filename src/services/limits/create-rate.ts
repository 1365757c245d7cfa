/** How many sandboxes a team, and a user of it, may make in a minute. Buckets are of this process; where several make sandboxes, each gives out its share. */
import type { Clock } from "#lib/clock.ts";
import { TokenBuckets } from "#lib/token-buckets.ts";
import { ServiceError } from "../service-error.ts";
import { type LimitGuard, ownerWords } from "./limit-guard.ts";

export interface CreateRateDeps {
  readonly limits: Pick<LimitGuard, "ofTeam" | "ofUser">;
  readonly clock: Clock;
  /** How many processes make sandboxes, this one included; 1 when left out. */
  readonly processes?: (() => number) | undefined;
}

/** After a quiet time so many seconds' worth may come at once. */
const burstSeconds = 10;
/** A rate of 0 fills no bucket, ever. */
const longestWaitSeconds = 3600;

export class CreateRate {
  readonly #deps: CreateRateDeps;
  readonly #buckets: TokenBuckets;

  constructor(deps: CreateRateDeps) {
    this.#deps = deps;
    this.#buckets = new TokenBuckets(deps.clock);
  }

  /** Of one create, or of one of a batch. Throws limit_reached with when to try again. */
  take(team: string, user?: string): void {
    if (team === "") return;
    const { limits } = this.#deps;
    // The narrower one first: what a user may not do costs the team nothing.
    if (user !== undefined) this.#takeOf({ team, user }, limits.ofUser(team, user, "createsPerMinute"));
    this.#takeOf({ team }, limits.ofTeam(team, "createsPerMinute"));
  }

  #takeOf({ team, user }: { readonly team: string; readonly user?: string }, perMinute: number | undefined): void {
    if (perMinute === undefined) return;
    const perSecond = perMinute / 60 / Math.max(1, this.#deps.processes?.() ?? 1);
    const bucket = user === undefined ? team : `${team}/${user}`;
    const wait = this.#buckets.take(bucket, { perSecond, burst: perMinute === 0 ? 0 : Math.max(1, perSecond * burstSeconds) });
    if (wait === undefined) return;
    const { whose, where, of } = ownerWords(team, user);
    const message = `${whose} may make ${perMinute} sandboxes a minute (limit createsPerMinute). An admin can raise it: agentbox limits set ${where} createsPerMinute=N`;
    const retryAfterSeconds = Math.ceil(Math.min(wait, longestWaitSeconds));
    throw new ServiceError("limit_reached", message, { limit: { name: "createsPerMinute", ...of, limit: perMinute }, retryAfterSeconds });
  }
}
