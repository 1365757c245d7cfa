import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { prometheusMetrics } from "#lib/metrics.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { type Passage, SimulatedLeaseServer } from "../../../test/world/simulated-lease-server.ts";
import { type Pause, SimulatedProcess } from "../../../test/world/simulated-process.ts";
import { settle, SteppedClock } from "../../../test/world/stepped-clock.ts";
import { startLeaderElection } from "./leader-election.ts";
import { LeadershipLostError } from "./tenure.ts";

const quick: Passage = { requestMs: 1, answerMs: 1 };

class World {
  readonly clock = new SteppedClock();
  readonly server = new SimulatedLeaseServer(this.clock);

  candidate(identity: string, traits: Traits = {}): Candidate {
    return new Candidate(this, identity, traits);
  }

  get holder(): string | undefined {
    return this.server.lease?.spec?.holderIdentity?.split("_")[0];
  }
}

interface Traits {
  readonly skewMs?: number;
  readonly passage?: Passage;
  readonly lead?: (signal: AbortSignal) => Promise<void>;
}

const untilTold = (signal: AbortSignal): Promise<void> => new Promise((resolve) => signal.addEventListener("abort", () => resolve()));

/** A process that stands for the leadership, with work that ends when it is told, or when the test says so. */
class Candidate {
  readonly process: SimulatedProcess;
  readonly registry = new Registry();
  readonly log = recordedLog();
  passage: Passage;
  readonly terms: AbortSignal[] = [];
  readonly election;

  constructor(world: World, identity: string, { skewMs = 0, passage = quick, lead = untilTold }: Traits) {
    this.passage = passage;
    this.process = new SimulatedProcess(world.clock, skewMs);
    this.election = startLeaderElection(
      {
        client: world.server.clientFor(this.process, () => this.passage),
        clock: this.process,
        log: this.log.log,
        metrics: prometheusMetrics(this.registry),
        random: () => 0.5,
      },
      {
        namespace: "agentbox",
        name: "controllers",
        identity,
        lead: (signal) => {
          this.terms.push(signal);
          return lead(signal);
        },
      },
    );
  }

  get messages(): string[] {
    return this.log.lines.map((line) => line.msg);
  }
}

describe("winning", () => {
  test("the first candidate makes the lease and leads at once", async () => {
    const world = new World();
    const a = world.candidate("a");
    await world.clock.step(10);
    expect(a.election.leading).toBe(true);
    expect(world.server.lease).toMatchObject({
      metadata: { namespace: "agentbox", name: "controllers" },
      spec: {
        holderIdentity: a.election.holderIdentity,
        leaseDurationSeconds: 15,
        acquireTime: expect.stringMatching(/^2026-01-01T00:00:00\.\d{6}Z$/),
        leaseTransitions: 0,
      },
    });
    expect(await a.registry.metrics()).toContain('agentbox_leader{lease="agentbox/controllers"} 1');
  });

  test("of two that begin together one leads, and the other waits without an error", async () => {
    const world = new World();
    const [a, b] = [world.candidate("a"), world.candidate("b")];
    await world.clock.step(60_000);
    expect([a.election.leading, b.election.leading]).toEqual([true, false]);
    expect(b.messages).toEqual([]);
    expect(a.messages).toEqual(["leading"]);
  });

  test("a leader renews and keeps its acquire time and transitions", async () => {
    const world = new World();
    const a = world.candidate("a");
    await world.clock.step(10);
    const first = world.server.lease?.spec;
    await world.clock.step(60_000);
    const later = world.server.lease?.spec;
    expect(later?.renewTime).toMatch(/^2026-01-01T00:00:5[89]/);
    expect(later).toEqual({ ...first, renewTime: later?.renewTime });
    expect(a.terms).toHaveLength(1);
  });

  test.each([-60_000, 0, 60_000])("a dead leader's lease is taken after its duration, with the taker's clock %i ms off", async (skewMs) => {
    const world = new World();
    const a = world.candidate("a");
    await world.clock.step(10);
    const b = world.candidate("b", { skewMs });
    await world.clock.step(10_000);
    a.passage = { ...quick, lost: "request" };
    a.process.pause("stopped");
    await world.clock.step(12_900);
    expect(b.election.leading).toBe(false);
    await world.clock.step(4_500);
    expect(b.election.leading).toBe(true);
    expect(world.server.lease?.spec).toMatchObject({ holderIdentity: b.election.holderIdentity, leaseTransitions: 1 });
  });

  test("the holder's own duration counts, not the candidate's", async () => {
    const world = new World();
    const a = world.candidate("a");
    await world.clock.step(10);
    a.process.pause("stopped");
    world.server.set((lease) => ({ ...lease, spec: { ...lease.spec, leaseDurationSeconds: 60 } }));
    const b = world.candidate("b");
    await world.clock.step(59_000);
    expect(b.election.leading).toBe(false);
    await world.clock.step(5_000);
    expect(b.election.leading).toBe(true);
  });

  test("a deleted lease is not taken before its last known holder must have noticed", async () => {
    const world = new World();
    const [a, b] = [world.candidate("a"), world.candidate("b")];
    await world.clock.step(5_000);
    a.process.pause("stopped");
    world.server.set(() => undefined);
    await world.clock.step(14_000);
    expect(b.election.leading).toBe(false);
    await world.clock.step(6_000);
    expect(b.election.leading).toBe(true);
  });
});

describe("losing", () => {
  test("a leader that cannot renew stops leading after the renew deadline, before another may start", async () => {
    const world = new World();
    const [a, b] = [world.candidate("a"), world.candidate("b")];
    await world.clock.step(10);
    a.passage = { ...quick, lost: "request" };
    await world.clock.step(9_980);
    expect(a.election.leading).toBe(true);
    await world.clock.step(20);
    expect(a.election.leading).toBe(false);
    expect(a.terms[0]?.reason).toBeInstanceOf(LeadershipLostError);
    expect(b.election.leading).toBe(false);
    await world.clock.step(9_000);
    expect(b.election.leading).toBe(true);
    expect(a.messages).toContain("leadership lost");
    expect(await a.registry.metrics()).toContain('agentbox_leader{lease="agentbox/controllers"} 0');
  });

  test("the deadline counts from the start of a renewal, not from its answer", async () => {
    const world = new World();
    const a = world.candidate("a", { passage: { requestMs: 100, answerMs: 4_000 } });
    await world.clock.step(10_000);
    const started = world.clock.now();
    const last = Date.parse(world.server.lease?.spec?.renewTime ?? "");
    a.passage = { ...quick, lost: "request" };
    await world.clock.step(last + 9_999 - started);
    expect(a.election.leading).toBe(true);
    await world.clock.step(1);
    expect(a.election.leading).toBe(false);
  });

  test("a leader whose answers are lost goes on when they come again: its own renewals are not somebody else's", async () => {
    const world = new World();
    const a = world.candidate("a");
    await world.clock.step(10);
    a.passage = { ...quick, lost: "answer" };
    await world.clock.step(7_000);
    a.passage = quick;
    await world.clock.step(30_000);
    expect(a.terms).toHaveLength(1);
    expect(a.election.leading).toBe(true);
  });

  test("a lease that somebody edits stays with its holder", async () => {
    const world = new World();
    const a = world.candidate("a");
    await world.clock.step(10);
    world.server.set((lease) => ({ ...lease, metadata: { ...lease.metadata, labels: { seen: "yes" } } }));
    await world.clock.step(30_000);
    expect(a.terms).toHaveLength(1);
    expect(a.election.leading).toBe(true);
    expect(world.server.lease?.metadata.labels).toEqual({ seen: "yes" });
  });

  test.each([
    ["is deleted", () => undefined],
    [
      "gets another holder",
      (lease: object) => ({ ...lease, metadata: { uid: "uid-0" }, spec: { holderIdentity: "x", leaseDurationSeconds: 15 } }),
    ],
  ])("a leader whose lease %s stops at its next renewal and stands again", async (_what, change) => {
    const world = new World();
    const a = world.candidate("a");
    await world.clock.step(10);
    world.server.set(change);
    await world.clock.step(2_100);
    expect(a.terms[0]?.aborted).toBe(true);
    await world.clock.step(20_000);
    expect(a.terms).toHaveLength(2);
    expect(a.election.leading).toBe(true);
  });

  test("the next term begins only after the work of the last one has ended", async () => {
    const world = new World();
    const end = Promise.withResolvers<void>();
    const a = world.candidate("a", { lead: () => end.promise });
    await world.clock.step(10);
    world.server.set(() => undefined);
    await world.clock.step(30_000);
    expect(a.terms).toHaveLength(1);
    end.resolve();
    await world.clock.step(2_100);
    expect(a.terms).toHaveLength(2);
  });

  test.each<Pause>(["stopped", "suspended", "frozen"])(
    "a leader that was %s through its lease finds its signal ended when it wakes, before anything else runs",
    async (kind) => {
      const world = new World();
      const [a, b] = [world.candidate("a"), world.candidate("b")];
      await world.clock.step(10);
      const told: string[] = [];
      a.terms[0]?.addEventListener("abort", () => told.push("aborted"));
      a.process.pause(kind);
      await world.clock.step(20_000);
      expect(b.election.leading).toBe(true);
      let onWake: boolean | undefined;
      await a.process.resume(() => (onWake = a.terms[0]?.aborted));
      expect(onWake).toBe(true);
      expect(told).toEqual(["aborted"]);
      expect(a.election.leading).toBe(false);
    },
  );

  test("an answer that comes when its time is over already does not make a leader", async () => {
    const world = new World();
    const a = world.candidate("a", { passage: { requestMs: 1, answerMs: 100 } });
    await world.clock.step(150);
    a.process.pause("stopped");
    await world.clock.step(11_000);
    await a.process.resume(() => {});
    await settle();
    expect(a.terms).toHaveLength(0);
    await world.clock.step(3_000);
    expect(a.terms).toHaveLength(1);
  });
});

describe("stopping", () => {
  test("a leader that stops gives the lease back after its work has ended, and the next one takes it without waiting", async () => {
    const world = new World();
    const end = Promise.withResolvers<void>();
    const a = world.candidate("a", { lead: () => end.promise });
    await world.clock.step(10);
    const b = world.candidate("b");
    const stopped = a.election.stop(30_000);
    expect(a.terms[0]?.aborted).toBe(true);
    await world.clock.step(20_000);
    expect(world.holder).toBe("a");
    expect(b.election.leading).toBe(false);
    end.resolve();
    await world.clock.step(10);
    await stopped;
    expect(world.server.lease?.spec).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1 });
    await world.clock.step(2_500);
    expect(b.election.leading).toBe(true);
    expect(world.server.lease?.spec?.leaseTransitions).toBe(1);
    expect(a.messages).toEqual(["leading", "leadership given back"]);
  });

  test("work that does not end in time leaves the lease to run out", async () => {
    const world = new World();
    const a = world.candidate("a", { lead: () => new Promise(() => {}) });
    await world.clock.step(10);
    const b = world.candidate("b");
    const stopped = a.election.stop(5_000);
    await world.clock.step(5_000);
    await stopped;
    expect(a.messages).toContain("led work still runs after the stop");
    expect(world.holder).toBe("a");
    await world.clock.step(20_000);
    expect(b.election.leading).toBe(true);
  });

  test("a candidate that stops while it waits leaves the lease alone", async () => {
    const world = new World();
    const [a, b] = [world.candidate("a"), world.candidate("b")];
    await world.clock.step(5_000);
    await b.election.stop();
    expect(world.holder).toBe("a");
    expect(a.election.leading).toBe(true);
    expect(b.messages).toEqual([]);
  });

  test("a lease won while stopping is given back without having led", async () => {
    const world = new World();
    const a = world.candidate("a", { passage: { requestMs: 100, answerMs: 100 } });
    await world.clock.step(250);
    const stopped = a.election.stop();
    await world.clock.step(1_000);
    await stopped;
    expect(a.terms).toHaveLength(0);
    expect(world.server.lease?.spec?.holderIdentity).toBe("");
  });

  test("a lease that was edited meanwhile is given back all the same", async () => {
    const world = new World();
    const a = world.candidate("a");
    await world.clock.step(10);
    world.server.set((lease) => ({ ...lease, metadata: { ...lease.metadata, labels: { seen: "yes" } } }));
    const stopped = a.election.stop();
    await world.clock.step(100);
    await stopped;
    expect(world.server.lease?.spec?.holderIdentity).toBe("");
  });

  test("work that ends or fails by itself gives the place to another", async () => {
    const world = new World();
    const a = world.candidate("a", { lead: () => Promise.reject(new Error("out of memory")) });
    const b = world.candidate("b");
    await world.clock.step(4_000);
    expect([a.election.leading, b.election.leading]).toEqual([false, true]);
    expect(a.log.lines).toMatchObject([
      { msg: "leading" },
      { level: "error", msg: "led work failed", error: { message: "out of memory" } },
      { msg: "leadership given back", outcome: "written" },
    ]);
  });

  test("a server that does not answer is told once per try and does not end the standing", async () => {
    const world = new World();
    const a = world.candidate("a", { passage: { ...quick, lost: "request" } });
    await world.clock.step(15_000);
    expect(new Set(a.messages)).toEqual(new Set(["lease not reachable"]));
    a.passage = quick;
    await world.clock.step(10_000);
    expect(a.election.leading).toBe(true);
  });
});
