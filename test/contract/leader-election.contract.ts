/** What leader election keeps on every API server. In real time, so its leases are short. */
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { type LeaderElection, startLeaderElection } from "#kube/leader/leader-election.ts";
import type { LeaderTiming } from "#kube/leader/timing.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { systemClock } from "#lib/clock.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { type Lease, Leases } from "#model/core-kinds.ts";
import { recordedLog } from "../world/recorded-log.ts";
import { until } from "./helpers.ts";

export interface LeaseServer {
  readonly client: ObjectClient;
  namespace(): Promise<string>;
}

/** Short, and still long enough for a server that shares a busy machine with the test. */
export const fastTiming: LeaderTiming = { leaseDurationMs: 3_000, renewDeadlineMs: 2_000, retryPeriodMs: 200 };

/** The candidates for one lease, and what became of them. */
class Election implements AsyncDisposable {
  readonly key: { readonly namespace: string; readonly name: string };
  readonly client: ObjectClient;
  readonly #timing: LeaderTiming;
  readonly #candidates: Candidate[] = [];
  /** Identities of those that led while another did: always empty. */
  readonly overlaps: string[] = [];

  constructor(client: ObjectClient, namespace: string, timing: LeaderTiming) {
    this.client = client;
    this.key = { namespace, name: "controllers" };
    this.#timing = timing;
  }

  stand(identity: string): Candidate {
    const candidate = new Candidate(this, identity, this.#timing);
    this.#candidates.push(candidate);
    return candidate;
  }

  begun(candidate: Candidate): void {
    for (const other of this.#candidates) {
      if (other !== candidate && other.leading) this.overlaps.push(`${candidate.identity} beside ${other.identity}`);
    }
  }

  /** The lease as soon as it is as wished. */
  async lease(wish: (spec: NonNullable<Lease["spec"]>) => boolean = () => true): Promise<NonNullable<Lease["spec"]>> {
    const lease = await until(this.client, Leases, this.key, (now) => now?.spec !== undefined && wish(now.spec));
    return lease?.spec ?? {};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#candidates.map((candidate) => candidate.election.stop()));
  }
}

class Candidate {
  readonly identity: string;
  readonly election: LeaderElection;
  /** True while this candidate's way to the server is cut. */
  cut = false;
  readonly terms: AbortSignal[] = [];
  readonly #waiting: ((term: AbortSignal) => void)[] = [];

  constructor(of: Election, identity: string, timing: LeaderTiming) {
    this.identity = identity;
    this.election = startLeaderElection(
      { client: this.#cuttable(of.client), clock: systemClock, log: recordedLog().log, metrics: prometheusMetrics(new Registry()) },
      {
        ...of.key,
        identity,
        timing,
        lead: async (signal) => {
          this.terms.push(signal);
          of.begun(this);
          for (const told of this.#waiting.splice(0)) told(signal);
          await ended(signal);
        },
      },
    );
  }

  get leading(): boolean {
    return this.terms.at(-1)?.aborted === false;
  }

  /** Resolves when the candidate has led so many times. */
  async term(number: number): Promise<AbortSignal> {
    for (;;) {
      const term = this.terms[number - 1];
      if (term !== undefined) return term;
      await new Promise<AbortSignal>((resolve) => this.#waiting.push(resolve));
    }
  }

  #cuttable(client: ObjectClient): ObjectClient {
    return {
      ...noOtherCalls,
      get: (...call) => (this.cut ? never() : client.get(...call)),
      create: (...call) => (this.cut ? never() : client.create(...call)),
      update: (...call) => (this.cut ? never() : client.update(...call)),
    };
  }
}

const refuse = (): never => {
  throw new Error("leader election gets, creates and updates, nothing else");
};
const noOtherCalls = {
  list: refuse,
  watch: refuse,
  patch: refuse,
  delete: refuse,
  getScale: refuse,
  updateScale: refuse,
  patchScale: refuse,
};

const never = (): Promise<never> => new Promise(() => {});

const ended = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

export function leaderElectionContract(server: () => LeaseServer, timing: LeaderTiming = fastTiming): void {
  const begin = async (): Promise<Election> => new Election(server().client, await server().namespace(), timing);

  test("of several candidates that begin together exactly one leads, and the lease says which one and since when", async () => {
    await using election = await begin();
    const all = ["a", "b", "c", "d"].map((identity) => election.stand(identity));
    const first = await Promise.race(all.map(async (candidate) => candidate.term(1).then(() => candidate)));
    expect(await election.lease()).toEqual({
      holderIdentity: first.election.holderIdentity,
      leaseDurationSeconds: 3,
      acquireTime: expect.stringMatching(/T\d\d:\d\d:\d\d\.\d{6}Z$/),
      renewTime: expect.stringMatching(/T\d\d:\d\d:\d\d\.\d{6}Z$/),
      leaseTransitions: 0,
    });
    expect(all.filter((candidate) => candidate.leading)).toEqual([first]);
  });

  test("a leader renews, and only the time of renewal changes", async () => {
    await using election = await begin();
    await election.stand("a").term(1);
    const before = await election.lease();
    const after = await election.lease((spec) => spec.renewTime !== before.renewTime);
    expect(after).toEqual({ ...before, renewTime: after.renewTime });
    expect(Date.parse(after.renewTime ?? "")).toBeGreaterThan(Date.parse(before.renewTime ?? ""));
  });

  test("a leader that stops gives the lease back, and the next one leads without waiting for it to run out", async () => {
    await using election = await begin();
    const a = election.stand("a");
    await a.term(1);
    await a.election.stop();
    expect(await election.lease()).toMatchObject({ holderIdentity: "", leaseTransitions: 0 });
    const b = election.stand("b");
    await b.term(1);
    expect(await election.lease()).toMatchObject({ holderIdentity: b.election.holderIdentity, leaseTransitions: 1 });
  });

  test("a leader that is cut off stops leading before another begins, and follows when it is back", async () => {
    await using election = await begin();
    const a = election.stand("a");
    const first = await a.term(1);
    const b = election.stand("b");
    a.cut = true;
    await b.term(1);
    expect(first.aborted).toBe(true);
    a.cut = false;
    await b.election.stop();
    await a.term(2);
    expect(await election.lease()).toMatchObject({ holderIdentity: a.election.holderIdentity, leaseTransitions: 2 });
    expect(election.overlaps).toEqual([]);
  });

  test("another's lease is left alone until it has not changed for its whole duration, however old its times say it is", async () => {
    await using election = await begin();
    const old = "2001-01-01T00:00:00.000000Z";
    const spec = { holderIdentity: "somebody", leaseDurationSeconds: 2, acquireTime: old, renewTime: old, leaseTransitions: 7 };
    const made = await election.client.create(Leases, { metadata: election.key, spec });
    const start = systemClock.monotonic();
    const a = election.stand("a");
    await election.client.update(Leases, { ...made, spec: { ...spec, renewTime: "2001-01-01T00:00:01.000000Z" } });
    await a.term(1);
    expect(systemClock.monotonic() - start).toBeGreaterThanOrEqual(1_900);
    expect(await election.lease()).toMatchObject({
      holderIdentity: a.election.holderIdentity,
      leaseDurationSeconds: 3,
      leaseTransitions: 8,
    });
  });

  test("a lease that another client labels stays with its holder, with the label", async () => {
    await using election = await begin();
    const a = election.stand("a");
    await a.term(1);
    await election.client.patch(Leases, election.key, { type: "merge", body: { metadata: { labels: { seen: "yes" } } } });
    const { renewTime } = await election.lease();
    await election.lease((spec) => spec.renewTime !== renewTime);
    expect([a.leading, a.terms.length]).toEqual([true, 1]);
    expect((await election.client.get(Leases, election.key)).metadata.labels).toEqual({ seen: "yes" });
  });

  test("a leader whose lease is deleted stops leading, and can win it again", async () => {
    await using election = await begin();
    const a = election.stand("a");
    const first = await a.term(1);
    await election.client.delete(Leases, election.key);
    await ended(first);
    await a.term(2);
    expect(await election.lease()).toMatchObject({ holderIdentity: a.election.holderIdentity, leaseTransitions: 0 });
  });

  test("a leader whose lease is taken by force stops leading", async () => {
    await using election = await begin();
    const first = await election.stand("a").term(1);
    await election.client.patch(Leases, election.key, { type: "merge", body: { spec: { holderIdentity: "somebody" } } });
    await ended(first);
    expect(String(first.reason)).toContain("the lease is held by somebody");
    expect((await election.lease()).holderIdentity).toBe("somebody");
  });
}
