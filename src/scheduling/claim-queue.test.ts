import { describe, expect, test } from "vitest";
import type { Pod } from "#model/pod.ts";
import { aPoolPod } from "../../test/world/pool-pods.ts";
import { lateAfter } from "../../test/world/late-after.ts";
import { settle, SteppedClock } from "../../test/world/stepped-clock.ts";
import { ClaimQueue, type ClaimQueueOptions, type PodRequest, type Turn } from "./claim-queue.ts";
import type { Reservation } from "./idle-pods.ts";

const py = { namespace: "ns", name: "py" };
const go = { namespace: "ns", name: "go" };

function aPod(name: string, pool = "py", version = 1): Pod {
  return aPoolPod({
    labels: { "agentbox.navix.sh/sandbox-pool": pool },
    metadata: { name, uid: `uid-${name}`, resourceVersion: String(version) },
  });
}

function claimed(pod: Pod): Pod {
  const labels = { ...pod.metadata.labels, "agentbox.navix.sh/sandbox-phase": "running", "agentbox.navix.sh/sandbox-id": "i1" };
  return { ...pod, metadata: { ...pod.metadata, labels, resourceVersion: "9" } };
}

/** A queue, and what became of the requests in it by their name. */
class Bench {
  readonly clock = new SteppedClock();
  readonly queue: ClaimQueue;
  readonly ended: string[] = [];
  readonly reservations = new Map<string, Reservation>();

  constructor(limits: Partial<ClaimQueueOptions> = {}) {
    this.queue = new ClaimQueue({ maxWaiting: 1000, maxWaitingOfTenant: 1000, ...limits });
  }

  async asks(name: string, more: Partial<PodRequest> & { readonly waitMs?: number } = {}): Promise<void> {
    const { waitMs = 60_000, ...request } = more;
    const whole: PodRequest = {
      tenant: name.slice(0, 1),
      pools: [{ pool: py }],
      signal: new AbortController().signal,
      late: lateAfter(this.clock, waitMs),
      ...request,
    };
    void this.queue.take(whole).then((turn) => this.#note(name, turn));
    await settle();
  }

  /** Because what it has is not what it was. */
  async asksAgain(name: string, more: Partial<PodRequest> = {}): Promise<void> {
    const instead = this.reservations.get(name);
    if (instead === undefined) throw new Error(`${name} has no pod`);
    await this.asks(name, { ...more, instead });
  }

  async offers(pod: Pod): Promise<void> {
    this.queue.observe(pod, undefined);
    await settle();
  }

  #note(name: string, turn: Turn): void {
    if (turn.kind === "pod") this.reservations.set(name, turn.reservation);
    this.ended.push(turn.kind === "pod" ? `${name} has ${turn.reservation.pod.metadata.name}` : `${name} ${turn.kind}`);
  }
}

test("a request that finds a free pod has it at once", async () => {
  const bench = new Bench();
  await bench.offers(aPod("p1"));
  await bench.asks("a1");
  expect([bench.ended, bench.queue.size]).toEqual([["a1 has p1"], 0]);
});

test("a request waits for the event of a pod that turns idle, without polling", async () => {
  const bench = new Bench();
  await bench.asks("a1");
  // Only its caller's deadline.
  expect(bench.clock.pending).toBe(1);
  await bench.offers(aPod("p1"));
  expect([bench.ended, bench.queue.size]).toEqual([["a1 has p1"], 0]);
});

test("I9: tenants have turns, and inside a tenant the first comes first", async () => {
  const bench = new Bench();
  for (const name of ["a1", "a2", "a3", "b1", "c1", "b2"]) await bench.asks(name);
  for (let pod = 1; pod <= 6; pod++) await bench.offers(aPod(`p${pod}`));
  expect(bench.ended.map((text) => text.slice(0, 2))).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
});

test("a tenant who comes late does not wait behind all that another one has asked for", async () => {
  const bench = new Bench();
  for (let index = 0; index < 100; index++) await bench.asks(`a${index}`);
  await bench.offers(aPod("p1"));
  await bench.asks("b1");
  await bench.offers(aPod("p2"));
  await bench.offers(aPod("p3"));
  expect(bench.ended.map((text) => text.split(" ")[0])).toEqual(["a0", "a1", "b1"]);
});

test("I9: a request that gets nothing ends by its deadline and leaves nothing", async () => {
  const bench = new Bench();
  await bench.asks("a1", { waitMs: 5000 });
  await bench.clock.step(4999);
  expect(bench.ended).toEqual([]);
  await bench.clock.step(1);
  expect([bench.ended, bench.queue.size, bench.queue.waiting(py), bench.queue.pools]).toEqual([["a1 late"], 0, 0, 0]);
  await bench.asks("a2", { waitMs: 0 });
  expect(bench.ended[1]).toBe("a2 late");
});

test("a caller who leaves frees his place at once, and the next one has the pod", async () => {
  const bench = new Bench();
  const leaving = new AbortController();
  await bench.asks("a1", { signal: leaving.signal });
  await bench.asks("a2");
  leaving.abort(new Error("gone"));
  await bench.offers(aPod("p1"));
  expect([bench.ended, bench.queue.size]).toEqual([["a1 canceled", "a2 has p1"], 0]);
  await bench.asks("a3", { signal: leaving.signal });
  expect(bench.ended[2]).toBe("a3 canceled");
});

test("a full queue refuses, as a whole and per tenant", async () => {
  const bench = new Bench({ maxWaiting: 3, maxWaitingOfTenant: 2 });
  for (const name of ["a1", "a2", "a3", "b1", "c1"]) await bench.asks(name);
  expect(bench.ended).toEqual(["a3 full", "c1 full"]);
  await bench.offers(aPod("p1"));
  await bench.asks("c2");
  expect([bench.ended.at(-1), bench.queue.size]).toEqual(["a1 has p1", 3]);
});

test("W18: a request takes the first pod that any of its pools offers", async () => {
  const bench = new Bench();
  await bench.asks("a1", { pools: [{ pool: py }, { pool: go }] });
  expect([bench.queue.waiting(py), bench.queue.waiting(go), bench.queue.size]).toEqual([1, 1, 1]);
  await bench.offers(aPod("p1", "go"));
  expect([bench.ended, bench.queue.waiting(py), bench.queue.waiting(go)]).toEqual([["a1 has p1"], 0, 0]);
});

test("W11: all that wait are counted, at each pool that could serve them", async () => {
  const bench = new Bench();
  await bench.asks("a1");
  await bench.asks("a2", { pools: [{ pool: go }, { pool: py }] });
  await bench.asks("b1", { pools: [{ pool: go }] });
  expect([bench.queue.waiting(py), bench.queue.waiting(go), bench.queue.size]).toEqual([2, 2, 3]);
});

test("whoever listens is told of each pool at which a request begins to wait, and of none where it found a pod", async () => {
  const bench = new Bench();
  const told: string[] = [];
  const stop = bench.queue.onWaiting(({ name }) => told.push(name));
  await bench.offers(aPod("p1"));
  await bench.asks("a1");
  expect(told).toEqual([]);
  await bench.asks("a2", { pools: [{ pool: go }, { pool: py }] });
  stop();
  await bench.asks("a3");
  expect(told).toEqual(["go", "py"]);
});

test("W12: when a pool goes, whoever waits only for it is told, and the others wait on", async () => {
  const bench = new Bench();
  await bench.asks("a1");
  await bench.asks("a2", { pools: [{ pool: py }, { pool: go }] });
  bench.queue.removePool(py);
  await settle();
  expect([bench.ended, bench.queue.waiting(py), bench.queue.waiting(go)]).toEqual([["a1 gone"], 0, 1]);
  expect(bench.queue.sets(), "a pod is to be made at a pool that is left").toEqual([{ pools: ["ns/go"], count: 1 }]);
  await bench.offers(aPod("p0", "py"));
  expect(bench.ended, "pods of the removed pool go to no request").toEqual(["a1 gone"]);
  await bench.offers(aPod("p1", "go"));
  bench.queue.observe(undefined, aPod("p0", "py"));
  bench.queue.observe(undefined, aPod("p1", "go"));
  expect([bench.ended[1], bench.queue.pools]).toEqual(["a2 has p1", 0]);
});

describe("a pod that comes back", () => {
  test("goes to the next one", async () => {
    const bench = new Bench();
    await bench.offers(aPod("p1"));
    for (const name of ["a1", "b1"]) await bench.asks(name);
    bench.reservations.get("a1")?.cancel();
    await settle();
    expect(bench.ended).toEqual(["a1 has p1", "b1 has p1"]);
  });

  test("W5: is lost to somebody else; who had it waits before the others of its tenant", async () => {
    const bench = new Bench();
    await bench.offers(aPod("p1"));
    for (const name of ["a1", "a2", "b1"]) await bench.asks(name);
    bench.queue.observe(claimed(aPod("p1")), aPod("p1"));
    await bench.asksAgain("a1");
    await bench.offers(aPod("p2"));
    await bench.offers(aPod("p3"));
    await bench.offers(aPod("p4"));
    expect(bench.ended.slice(1)).toEqual(["a1 has p2", "b1 has p3", "a2 has p4"]);
  });

  test("W5: is lost to somebody else; who had it still has his turn, before all other tenants", async () => {
    const bench = new Bench();
    await bench.offers(aPod("p1"));
    for (const name of ["a1", "b1", "c1", "b2"]) await bench.asks(name);
    bench.queue.observe(claimed(aPod("p1")), aPod("p1"));
    await bench.asksAgain("a1");
    for (const name of ["p2", "p3", "p4", "p5"]) await bench.offers(aPod(name));
    expect(bench.ended.slice(1)).toEqual(["a1 has p2", "b1 has p3", "c1 has p4", "b2 has p5"]);
  });

  test("W5: was changed and can still be had: it stays with who had it, and nobody gets in between", async () => {
    const bench = new Bench();
    await bench.offers(aPod("p1"));
    for (const name of ["a1", "b1"]) await bench.asks(name);
    bench.queue.observe(aPod("p1", "py", 2), aPod("p1"));
    await bench.asksAgain("a1");
    expect(bench.ended).toEqual(["a1 has p1", "a1 has p1"]);
  });

  test("W5: is not kept by who has no time left for another", async () => {
    const bench = new Bench();
    await bench.offers(aPod("p1"));
    for (const name of ["a1", "b1"]) await bench.asks(name);
    bench.queue.observe(aPod("p1", "py", 2), aPod("p1"));
    await bench.asksAgain("a1", { late: AbortSignal.abort() });
    expect(bench.ended.slice(1).toSorted()).toEqual(["a1 late", "b1 has p1"]);
  });
});

test("a queue that is stopped ends all that wait and refuses what comes", async () => {
  const bench = new Bench();
  await bench.asks("a1");
  bench.queue.stop();
  await bench.asks("a2");
  expect([bench.ended, bench.queue.size]).toEqual([["a1 stopped", "a2 stopped"], 0]);
});
