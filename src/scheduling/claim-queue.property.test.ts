import fc from "fast-check";
import { expect, test } from "vitest";
import { labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { aPoolPod } from "../../test/world/pool-pods.ts";
import { lateAfter } from "../../test/world/late-after.ts";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import { ClaimQueue, type PodRequest, type Turn } from "./claim-queue.ts";
import type { Reservation } from "./idle-pods.ts";

const py = { namespace: "ns", name: "py" };
const go = { namespace: "ns", name: "go" };

function aPod(name: string, pool = "py", version = 1): Pod {
  return aPoolPod({ labels: { [labelKeys.sandboxPool]: pool }, metadata: { name, uid: `uid-${name}`, resourceVersion: String(version) } });
}

function claimed(pod: Pod): Pod {
  const labels = { ...pod.metadata.labels, [labelKeys.sandboxPhase]: "running", [labelKeys.sandboxId]: "i1" };
  return { ...pod, metadata: { ...pod.metadata, labels, resourceVersion: `${pod.metadata.resourceVersion}0` } };
}

interface Open {
  readonly deadline: number;
  readonly leave: AbortController;
}

interface Asked {
  readonly tenant: number;
  readonly both: boolean;
  readonly waitMs: number;
  readonly instead?: Reservation;
}

/** A queue, and a plain account of the requests that wait and the pods that are held. */
class Account {
  readonly clock = new SteppedClock();
  readonly queue = new ClaimQueue({ maxWaiting: 20, maxWaitingOfTenant: 8 });
  readonly open = new Set<Open>();
  readonly held = new Map<string, Reservation>();
  /** Pods that were given to a second request while the first one held them. */
  readonly twice: string[] = [];
  #pods = 0;

  ask({ tenant, both, waitMs, instead }: Asked): void {
    const one: Open = { deadline: this.clock.now() + waitMs, leave: new AbortController() };
    this.open.add(one);
    const pools = both ? [{ pool: py }, { pool: go }] : [{ pool: py }];
    const request: PodRequest = { tenant: `t${tenant}`, pools, late: lateAfter(this.clock, waitMs), signal: one.leave.signal };
    void this.queue.take(instead === undefined ? request : { ...request, instead }).then((turn) => this.#note(one, turn));
  }

  offer({ pool }: { readonly pool: string }): void {
    this.#pods += 1;
    this.queue.observe(aPod(`p${this.#pods}`, pool), undefined);
  }

  leave({ index }: { readonly index: number }): void {
    [...this.open].at(index % Math.max(1, this.open.size))?.leave.abort();
  }

  /** A request that holds a pod has claimed it, has lost it to another one, or gives it back. */
  end({ index, how }: { readonly index: number; readonly how: "claim" | "lose" | "ask again" | "give back" }): void {
    const [name, reservation] = [...this.held].at(index % Math.max(1, this.held.size)) ?? [];
    if (name === undefined || reservation === undefined) return;
    this.held.delete(name);
    if (how === "give back") return reservation.cancel();
    if (how === "ask again") this.ask({ tenant: 0, both: true, waitMs: 50, instead: reservation });
    if (how === "lose") reservation.outdated();
    this.queue.observe(claimed(reservation.pod), reservation.pod);
  }

  #note(one: Open, turn: Turn): void {
    this.open.delete(one);
    if (turn.kind !== "pod") return;
    const name = turn.reservation.pod.metadata.name ?? "";
    if (this.held.has(name)) this.twice.push(name);
    this.held.set(name, turn.reservation);
  }
}

type Step = (account: Account) => void | Promise<void>;

const step = fc.oneof<{ weight: number; arbitrary: fc.Arbitrary<Step> }[]>(
  {
    weight: 4,
    arbitrary: fc
      .record({ tenant: fc.nat({ max: 3 }), both: fc.boolean(), waitMs: fc.integer({ min: 1, max: 50 }) })
      .map((asked) => (account) => account.ask(asked)),
  },
  { weight: 4, arbitrary: fc.record({ pool: fc.constantFrom("py", "go") }).map((offer) => (account) => account.offer(offer)) },
  {
    weight: 3,
    arbitrary: fc
      .record({ index: fc.nat(), how: fc.constantFrom("claim" as const, "lose" as const, "ask again" as const, "give back" as const) })
      .map((end) => (account) => account.end(end)),
  },
  { weight: 1, arbitrary: fc.record({ index: fc.nat() }).map((who) => (account) => account.leave(who)) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 30 }).map((ms) => (account) => account.clock.step(ms)) },
);

/** Lets what was resolved be heard. */
async function heard(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await Promise.resolve();
}

test("whatever happens: nobody waits beside a free pod, no pod is held twice, and everybody ends by his deadline", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const account = new Account();
      const { queue, clock, open, held } = account;
      for (const act of steps) {
        await act(account);
        await heard();
        expect([...open].filter(({ deadline }) => deadline <= clock.now())).toEqual([]);
        expect([py, go].map((pool) => Math.min(queue.waiting(pool), queue.free(pool)))).toEqual([0, 0]);
        expect([queue.size, queue.reserved(py) + queue.reserved(go), account.twice]).toEqual([open.size, held.size, []]);
      }
      await clock.step(100);
      expect([queue.size, open.size, clock.pending]).toEqual([0, 0, 0]);
    }),
    { numRuns: 200 },
  );
});

test("fair, whoever waits: between two turns of a tenant every other that waits has one", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 60 }), async (tenants) => {
      const queue = new ClaimQueue();
      const left = new Map<number, number>();
      const served: { readonly tenant: number; readonly index: number }[] = [];
      tenants.forEach((tenant, index) => {
        left.set(tenant, (left.get(tenant) ?? 0) + 1);
        const request: PodRequest = {
          tenant: `t${tenant}`,
          pools: [{ pool: py }],
          late: new AbortController().signal,
          signal: new AbortController().signal,
        };
        void queue.take(request).then(() => served.push({ tenant, index }));
      });
      const lastTurn = new Map<number, number>();
      for (let turn = 0; turn < tenants.length; turn++) {
        queue.observe(aPod(`p${turn}`), undefined);
        await Promise.resolve();
        await Promise.resolve();
        const now = served[turn];
        if (now === undefined) throw new Error("a pod was offered and nobody had it");
        const before = lastTurn.get(now.tenant);
        const others = [...left].filter(([tenant, count]) => tenant !== now.tenant && count > 0).map(([tenant]) => tenant);
        expect(others.filter((tenant) => (lastTurn.get(tenant) ?? -1) < (before ?? -1))).toEqual([]);
        lastTurn.set(now.tenant, turn);
        left.set(now.tenant, (left.get(now.tenant) ?? 1) - 1);
      }
      for (const tenant of new Set(tenants)) {
        const order = served.filter((one) => one.tenant === tenant).map(({ index }) => index);
        expect(order).toEqual([...order].sort((left2, right) => left2 - right));
      }
    }),
    { numRuns: 100 },
  );
});
