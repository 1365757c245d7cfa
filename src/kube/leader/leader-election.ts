/**
 * One of several processes leads, by holding a Lease. Siblings: lease-observer.ts (when may it be taken), tenure.ts (how long
 * may we lead on it), lease-client.ts (how it is written, and what), timing.ts (the numbers).
 *
 * L1 The lease is written only on the version that was seen; losing that race is an outcome, not a failure.
 * L2 A candidate takes a held lease only when it has not seen it change for the lease's whole duration, by its own clock.
 * L3 A leader stops leading renewDeadline after the *start* of its last successful renewal. That is before another process may
 *    take the lease: renewDeadline is shorter than the lease, and others count from when they saw the renewal.
 * L4 The led work runs once at a time, and the lease is given back only after it has ended.
 */
import { randomUUID } from "node:crypto";
import type { ObjectClient } from "#kube/object-client.ts";
import { abortable } from "#lib/abortable.ts";
import { type Random, spread } from "#lib/backoff.ts";
import { type MonotonicClock, sleep } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Lease } from "#model/core-kinds.ts";
import { claimed, type Held, LeaseClient, released } from "./lease-client.ts";
import { LeaseObserver } from "./lease-observer.ts";
import { Tenure } from "./tenure.ts";
import { checkTiming, defaultTiming, type LeaderTiming, retrySpread } from "./timing.ts";

export interface LeaderElectionDeps {
  readonly client: ObjectClient;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly random?: Random | undefined;
}

export interface LeaderElectionOptions {
  /** The Lease that the candidates share. */
  readonly namespace: string;
  readonly name: string;
  /** Our name, for people. A random part is added: a restarted process is not its predecessor. */
  readonly identity: string;
  /**
   * The work of the leader. It must end soon after its signal ends, and must not act without having looked at it: pass it
   * to calls, or read it. Work that ends by itself gives the lease back, and we stand again.
   */
  readonly lead: (signal: AbortSignal) => Promise<void>;
  readonly timing?: Partial<LeaderTiming>;
}

export interface LeaderElection {
  /** What the lease says while we hold it. */
  readonly holderIdentity: string;
  readonly leading: boolean;
  /**
   * Stands no more. If we lead, the work is told, the lease is kept up until it has ended, and then given back. Work that
   * does not end in time leaves the lease to run out.
   */
  stop(withinMs?: number): Promise<void>;
}

const defaultStopMs = 10_000;

/** Stands for the leadership until it is stopped, and leads whenever it is won. */
export function startLeaderElection(deps: LeaderElectionDeps, options: LeaderElectionOptions): LeaderElection {
  const timing = { ...defaultTiming, ...options.timing };
  checkTiming(timing);
  const candidate = new Candidate(deps, options, timing);
  const lease = `${options.namespace}/${options.name}`;
  const unfollow = deps.metrics
    .gauge({ name: "agentbox_leader", help: "1 while this process leads.", labels: ["lease"] })
    .follow({ lease }, () => (candidate.leading ? 1 : 0));
  const ended = candidate.stand();
  return {
    holderIdentity: candidate.identity,
    get leading() {
      return candidate.leading;
    },
    stop: async (withinMs = defaultStopMs) => {
      candidate.resign();
      const late = new AbortController();
      const timer = deps.clock.after(withinMs, () => late.abort());
      await abortable(ended, late.signal).catch(() => candidate.abandon(withinMs));
      timer.cancel();
      unfollow();
    },
  };
}

class Candidate {
  readonly identity: string;
  readonly #deps: LeaderElectionDeps;
  readonly #options: LeaderElectionOptions;
  readonly #timing: LeaderTiming;
  readonly #log: Logger;
  readonly #observer: LeaseObserver;
  readonly #leases: LeaseClient;
  readonly #resigned = new AbortController();
  #tenure: Tenure | undefined;

  constructor(deps: LeaderElectionDeps, options: LeaderElectionOptions, timing: LeaderTiming) {
    const { namespace, name } = options;
    this.identity = `${options.identity}_${randomUUID()}`;
    this.#deps = deps;
    this.#options = options;
    this.#timing = timing;
    this.#log = deps.log.with({ lease: `${namespace}/${name}`, identity: this.identity });
    this.#observer = new LeaseObserver(this.identity, timing.leaseDurationMs);
    // A call that hangs is given up early enough for another try before the deadline.
    this.#leases = new LeaseClient(deps, { namespace, name }, timing.renewDeadlineMs / 2);
  }

  get leading(): boolean {
    return this.#tenure?.signal.aborted === false;
  }

  resign(): void {
    const reason = new Error("the leader election was stopped");
    this.#resigned.abort(reason);
    this.#tenure?.resign(reason);
  }

  abandon(withinMs: number): void {
    this.#tenure?.lose("its work did not end in time");
    this.#log.error({ withinMs }, "led work still runs after the stop");
  }

  async stand(): Promise<void> {
    while (!this.#resigned.signal.aborted) {
      try {
        const held = await this.#tryToAcquire();
        if (held !== undefined) await this.#serve(held);
      } catch (error) {
        if (!this.#resigned.signal.aborted) this.#log.warn({ error }, "lease not reachable");
      }
      await this.#pause(this.#resigned.signal);
    }
  }

  async #tryToAcquire(): Promise<Held | undefined> {
    const { clock } = this.#deps;
    const { namespace, name } = this.#options;
    const seen = await this.#leases.read(this.#resigned.signal);
    this.#observer.observe(seen, clock.monotonic());
    if (this.#observer.takeableInMs(clock.monotonic()) > 0) return undefined;
    // Not cancelled when we resign: a lease that this call takes after we gave up would block everyone until it runs out.
    const outcome = await this.#leases.write(this.#claim(seen ?? { metadata: { namespace, name } }));
    return outcome.kind === "written" ? outcome.held : undefined;
  }

  async #serve(held: Held): Promise<void> {
    const tenure = new Tenure(this.#deps.clock, this.#timing.renewDeadlineMs, held.started);
    this.#tenure = tenure;
    if (this.#resigned.signal.aborted) tenure.resign(this.#resigned.signal.reason as Error);
    const workEnded = new AbortController();
    const work = this.#lead(tenure.signal, held.lease).finally(() => workEnded.abort());
    const lease = await this.#keep(tenure, held.lease, workEnded.signal);
    if (tenure.lost) this.#log.warn({ error: tenure.signal.reason }, "leadership lost");
    await work;
    tenure.close();
    this.#tenure = undefined;
    if (!tenure.lost) await this.#release(lease);
  }

  async #lead(signal: AbortSignal, lease: Lease): Promise<void> {
    // The answer may have come so late that it is over already.
    if (signal.aborted) return;
    this.#log.info({ transitions: lease.spec?.leaseTransitions }, "leading");
    try {
      await this.#options.lead(signal);
      if (!signal.aborted) this.#log.warn({}, "led work ended by itself");
    } catch (error) {
      if (!signal.aborted) this.#log.error({ error }, "led work failed");
    }
  }

  /** Renews until the work has ended or the lease is lost. Resolves to the lease as it was last known to be ours. */
  async #keep(tenure: Tenure, lease: Lease, workEnded: AbortSignal): Promise<Lease> {
    let latest = lease;
    for (;;) {
      await this.#pause(workEnded);
      if (workEnded.aborted || tenure.lost) return latest;
      try {
        latest = await this.#renew(tenure, latest);
      } catch (error) {
        this.#log.warn({ error }, "lease not renewed");
      }
    }
  }

  async #renew(tenure: Tenure, lease: Lease): Promise<Lease> {
    const outcome = await this.#leases.write(this.#claim(lease));
    if (outcome.kind === "written") {
      tenure.renew(outcome.held.started);
      return outcome.held.lease;
    }
    // Another holder, or our own renewal whose answer was lost, or a changed label.
    const now = outcome.kind === "gone" ? undefined : await this.#leases.read();
    if (now?.spec?.holderIdentity === this.identity) return tenure.lost ? now : this.#renew(tenure, now);
    const holder = now?.spec?.holderIdentity;
    const held = holder ? `the lease is held by ${holder}` : "the lease has no holder";
    tenure.lose(now === undefined ? "the lease was deleted" : held);
    return lease;
  }

  async #release(lease: Lease): Promise<void> {
    try {
      const outcome = await this.#leases.write(released(lease, this.#deps.clock.now()));
      const now = outcome.kind === "lost-race" ? await this.#leases.read() : undefined;
      if (now?.spec?.holderIdentity === this.identity) return await this.#release(now);
      this.#log.info({ outcome: outcome.kind }, "leadership given back");
    } catch (error) {
      this.#log.warn({ error }, "lease not given back; it will run out");
    }
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const ms = spread(this.#timing.retryPeriodMs, retrySpread, this.#deps.random ?? Math.random);
    await sleep(this.#deps.clock, ms, signal).catch(() => {});
  }

  #claim(lease: Lease): Lease {
    return claimed(lease, { identity: this.identity, leaseDurationMs: this.#timing.leaseDurationMs, now: this.#deps.clock.now() });
  }
}
