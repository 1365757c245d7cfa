/**
 * Limits the requests of all keys of a team together: how many a second, and how many at once. Without it, a team could raise its limits by creating more
 * keys. An admin key belongs to no team; only its own rate limit applies.
 */
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Clock } from "#lib/clock.ts";
import { TokenBuckets } from "#lib/token-buckets.ts";
import type { Caller } from "#services/caller.ts";
import type { LimitGuard } from "#services/limits/limit-guard.ts";
import { ServiceError } from "#services/service-error.ts";

export interface TeamGateDeps {
  /** None when left out. */
  readonly limits?: Pick<LimitGuard, "ofTeam"> | undefined;
  readonly clock: Clock;
  /** How many processes serve the keys, this one included. */
  readonly processes?: (() => number) | undefined;
}

export class TeamGate {
  readonly #deps: TeamGateDeps;
  readonly #buckets: TokenBuckets;
  readonly #open = new Map<string, number>();

  constructor(deps: TeamGateDeps) {
    this.#deps = deps;
    this.#buckets = new TokenBuckets(deps.clock);
  }

  /** Admits a request, or as many as one body holds, which count until the answer has ended. Throws rate_limited or limit_reached. */
  enter({ team }: Caller, { raw }: Pick<FastifyReply, "raw">, requests = 1): void {
    const { limits } = this.#deps;
    if (team === "" || limits === undefined || requests < 1) return;
    for (let left = requests; left > 0; left--) this.#checkRate(team, limits);
    this.#checkOpen(team, limits, requests);
    this.#open.set(team, (this.#open.get(team) ?? 0) + requests);
    let isOpen = true;
    const end = (): void => {
      if (isOpen) this.#leave(team, requests);
      isOpen = false;
    };
    raw.once("close", end);
    raw.once("finish", end);
  }

  #leave(team: string, requests: number): void {
    const left = (this.#open.get(team) ?? requests) - requests;
    if (left <= 0) this.#open.delete(team);
    else this.#open.set(team, left);
  }

  #checkRate(team: string, limits: Pick<LimitGuard, "ofTeam">): void {
    const perSecond = limits.ofTeam(team, "requestsPerSecond");
    if (perSecond === undefined) return;
    const among = Math.max(1, this.#deps.processes?.() ?? 1);
    const wait = this.#buckets.take(team, { perSecond: perSecond / among, burst: Math.max(1, (2 * perSecond) / among) });
    if (wait === undefined) return;
    const message = `all keys of team ${team} together may send ${perSecond} requests a second (limit requestsPerSecond)`;
    throw new ServiceError("rate_limited", message, { retryAfterSeconds: Math.ceil(Math.min(wait, longestWaitSeconds)) });
  }

  #checkOpen(team: string, limits: Pick<LimitGuard, "ofTeam">, requests: number): void {
    const limit = limits.ofTeam(team, "connections");
    const used = this.#open.get(team) ?? 0;
    if (limit === undefined || used + requests <= limit) return;
    const message = `team ${team} has ${used} open requests on this server and may have ${limit} (limit connections): close some, or try again later`;
    throw new ServiceError("limit_reached", message, {
      limit: { name: "connections", of: "team", team, limit, used },
      retryAfterSeconds: 1,
    });
  }
}

/** With a rate of 0 a bucket never fills. */
const longestWaitSeconds = 3600;

/** By server, because plugins get instances of their own. */
const gates = new WeakMap<object, TeamGate>();

/** Call it once, where the server is made. */
export function countTerminals(app: FastifyInstance, gate: TeamGate): void {
  gates.set(app.server, gate);
}

/** For routes that authenticate their caller themselves, such as terminals. Throws as `enter` does. */
export function enterAs(caller: Caller, reply: FastifyReply, requests?: number): void {
  gates.get(reply.server.server)?.enter(caller, reply, requests);
}
