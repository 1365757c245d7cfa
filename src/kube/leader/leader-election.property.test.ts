import * as fc from "fast-check";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { sleep } from "#lib/clock.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { type Passage, SimulatedLeaseServer } from "../../../test/world/simulated-lease-server.ts";
import { type Pause, SimulatedProcess } from "../../../test/world/simulated-process.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { type LeaderElection, startLeaderElection } from "./leader-election.ts";

const candidates = 3;

/** A network of chance: mostly quick, sometimes slow, sometimes so slow that the caller has long given up. */
const passage: fc.Arbitrary<Passage> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ requestMs: fc.integer({ min: 1, max: 50 }), answerMs: fc.integer({ min: 1, max: 50 }) }) },
  { weight: 3, arbitrary: fc.record({ requestMs: fc.integer({ min: 1, max: 6_000 }), answerMs: fc.integer({ min: 1, max: 6_000 }) }) },
  { weight: 1, arbitrary: fc.record({ requestMs: fc.integer({ min: 1, max: 40_000 }), answerMs: fc.constant(1) }) },
  { weight: 1, arbitrary: fc.record({ requestMs: fc.constant(1), answerMs: fc.constant(1), lost: fc.constantFrom("request", "answer") }) },
);

/** Faults hit the leader more often than others: there they matter. */
const who = fc.oneof(fc.constant("leader" as const), fc.nat(candidates - 1));
const commonFaults = [
  fc.record({ kind: fc.constant("cut" as const), who, lost: fc.constantFrom("request" as const, "answer" as const) }),
  fc.record({ kind: fc.constant("heal" as const), who }),
  fc.record({ kind: fc.constant("resume" as const), who }),
  fc.record({ kind: fc.constant("restart" as const), who }),
  fc.record({ kind: fc.constant("edit lease" as const), who }),
];
const pauseOf = (...kinds: readonly Pause[]) => fc.record({ kind: fc.constant("pause" as const), who, how: fc.constantFrom(...kinds) });
const setClock = fc.record({ kind: fc.constant("set clock" as const), who, byMs: fc.integer({ min: -60_000, max: 60_000 }) });
const allFaults = fc.oneof(...commonFaults, pauseOf("stopped", "suspended", "frozen"), setClock);

type Fault = typeof allFaults extends fc.Arbitrary<infer T> ? T : never;

interface Seat {
  readonly process: SimulatedProcess;
  cut: Passage["lost"];
  election: LeaderElection | undefined;
  term: AbortSignal | undefined;
  ended: Promise<unknown>;
}

class Simulation {
  readonly world = new SteppedClock();
  readonly server = new SimulatedLeaseServer(this.world);
  readonly seats: readonly Seat[];
  readonly #passages: Iterator<Passage>;
  /** Moments at which two led at once. */
  readonly violations: string[] = [];
  terms = 0;
  acts = 0;

  constructor(skews: readonly number[], passages: Iterator<Passage>) {
    this.#passages = passages;
    this.seats = skews.map((skewMs) => ({
      process: new SimulatedProcess(this.world, skewMs),
      cut: undefined,
      election: undefined,
      term: undefined,
      ended: Promise.resolve(),
    }));
    for (const seat of this.seats) this.stand(seat);
  }

  stand(seat: Seat): void {
    const { process } = seat;
    seat.election = startLeaderElection(
      {
        client: this.server.clientFor(process, () => ({ ...this.#nextPassage(), ...(seat.cut === undefined ? {} : { lost: seat.cut }) })),
        clock: process,
        log: recordedLog().log,
        metrics: prometheusMetrics(new Registry()),
      },
      { namespace: "agentbox", name: "controllers", identity: `c${this.seats?.indexOf(seat)}`, lead: (signal) => this.#lead(seat, signal) },
    );
  }

  #nextPassage(): Passage {
    const { value } = this.#passages.next();
    return value as Passage; // The stream has no end.
  }

  /** Work that looks at its signal before it acts, and at nothing else. */
  async #lead(seat: Seat, signal: AbortSignal): Promise<void> {
    seat.term = signal;
    this.terms++;
    for (;;) {
      this.check("act");
      if (signal.aborted) break;
      this.acts++;
      await sleep(seat.process, 700);
    }
    seat.term = undefined;
  }

  get leaders(): number[] {
    return this.seats.flatMap(({ process, term }, i) => (process.awake && term?.aborted === false ? [i] : []));
  }

  check(when: string): void {
    const { leaders } = this;
    if (leaders.length > 1) this.violations.push(`${when} at ${this.world.now()}: ${leaders.join(" and ")}`);
  }

  async apply(fault: Fault): Promise<void> {
    const seat = this.seats[fault.who === "leader" ? (this.leaders[0] ?? 0) : fault.who];
    if (seat === undefined) return;
    if (fault.kind === "cut") seat.cut = fault.lost;
    else if (fault.kind === "heal") seat.cut = undefined;
    else if (fault.kind === "pause") seat.process.pause(fault.how);
    else if (fault.kind === "resume") await seat.process.resume(() => this.check("wake-up"));
    else if (fault.kind === "set clock") seat.process.setTimeOfDay(fault.byMs);
    else if (fault.kind === "edit lease")
      this.server.set((lease) => ({ ...lease, metadata: { ...lease.metadata, labels: { seen: "yes" } } }));
    else this.#restart(seat);
  }

  #restart(seat: Seat): void {
    if (!seat.process.awake || seat.election === undefined) return;
    const { election } = seat;
    seat.election = undefined;
    seat.ended = election.stop(60_000).then(() => this.stand(seat));
  }

  async healAll(): Promise<void> {
    for (const seat of this.seats) {
      seat.cut = undefined;
      await seat.process.resume(() => this.check("wake-up"));
    }
  }
}

async function simulate(
  skews: readonly number[],
  passages: Iterator<Passage>,
  script: readonly (readonly [number, Fault])[],
): Promise<Simulation> {
  const simulation = new Simulation(skews, passages);
  for (const [gapMs, fault] of script) {
    await simulation.world.step(gapMs);
    await simulation.apply(fault);
  }
  await simulation.healAll();
  return simulation;
}

const skews = fc.array(fc.integer({ min: -60_000, max: 60_000 }), { minLength: candidates, maxLength: candidates });
const scriptOf = (fault: fc.Arbitrary<Fault>) => fc.array(fc.tuple(fc.integer({ min: 1, max: 9_000 }), fault), { maxLength: 25 });

test.each([
  // What the machine sleeps is seen by its monotonic clock; the time of day may be anything.
  ["stopped and suspended processes and clocks that are set", fc.oneof(...commonFaults, pauseOf("stopped", "suspended"), setClock)],
  // What a virtual machine was frozen for, only its time of day can tell.
  ["frozen machines", fc.oneof(...commonFaults, pauseOf("frozen", "stopped"))],
])("two candidates never lead at once, under partitions, late answers, restarts, %s, clocks a minute apart", async (_what, fault) => {
  await fc.assert(
    fc.asyncProperty(skews, fc.infiniteStream(passage), scriptOf(fault), async (skewMs, passages, script) => {
      const simulation = await simulate(skewMs, passages, script);
      await simulation.world.step(20_000);
      expect(simulation.violations).toEqual([]);
    }),
    { numRuns: 400 },
  );
});

test("when the faults are over somebody leads soon, and only one", async () => {
  const calm: Passage = { requestMs: 5, answerMs: 5 };
  await fc.assert(
    fc.asyncProperty(skews, fc.infiniteStream(passage), scriptOf(allFaults), async (skewMs, passages, script) => {
      let faulty = true;
      const stream = { next: () => (faulty ? passages.next() : { value: calm }) };
      const simulation = await simulate(skewMs, stream, script);
      faulty = false;
      await simulation.world.step(90_000);
      expect(simulation.leaders).toHaveLength(1);
      expect(simulation.terms).toBeGreaterThan(0);
    }),
    { numRuns: 40 },
  );
});
