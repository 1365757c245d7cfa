import fc from "fast-check";
import { expect, test } from "vitest";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { aPoolPod, digestOf, type PoolPodShape } from "../../test/world/pool-pods.ts";
import { whyNotClaimable } from "#sandbox/claimable.ts";
import { IdlePods, type Reservation } from "./idle-pods.ts";

const py = { namespace: "ns", name: "py" };

const shapes: readonly PoolPodShape[] = [
  {},
  { annotations: { [annotationKeys.chosenToGo]: "2026-01-01T00:00:00Z" } },
  { images: { main: "app" } },
  { spec: { nodeName: "n2" } },
  { ready: false },
  { phase: "running", id: "i1" },
];

interface Known {
  readonly pod: Pod;
  /** A version that a claim found to be outdated. */
  readonly isOutdated?: boolean;
}

/** The pods, and a plain account of which request holds which. */
class Account {
  readonly idle = new IdlePods();
  readonly pods = new Map<string, Known>();
  readonly held = new Map<string, Reservation>();
  readonly wrong: string[] = [];
  #version = 0;

  see(name: string, shape: PoolPodShape): void {
    this.#version += 1;
    const metadata = { name, uid: `uid-${name}`, resourceVersion: String(this.#version) };
    const pod = aPoolPod({ ...shape, metadata });
    const before = this.pods.get(name)?.pod;
    this.pods.set(name, { pod });
    if (whyNotClaimable(pod) !== undefined) this.held.delete(name);
    this.idle.observe(pod, before);
  }

  lose(name: string): void {
    const before = this.pods.get(name)?.pod;
    if (before === undefined) return;
    this.pods.delete(name);
    this.held.delete(name);
    this.idle.observe(undefined, before);
  }

  reserve(): void {
    const reservation = this.idle.reserve([{ pool: py, digest: digestOf("app") }]);
    if (reservation === undefined) return;
    const { name = "" } = reservation.pod.metadata;
    if (this.held.has(name) || this.pods.get(name)?.pod !== reservation.pod) this.wrong.push(name);
    this.held.set(name, reservation);
  }

  end(name: string, how: "cancel" | "outdated"): void {
    const reservation = this.held.get(name);
    const known = this.pods.get(name);
    if (reservation === undefined || known === undefined) return;
    this.held.delete(name);
    reservation[how]();
    this.pods.set(name, { ...known, isOutdated: how === "outdated" && known.pod === reservation.pod });
  }

  get free(): number {
    const isFree = ([name, { pod, isOutdated = false }]: [string, Known]): boolean =>
      whyNotClaimable(pod) === undefined && !this.held.has(name) && !isOutdated;
    return [...this.pods].filter(isFree).length;
  }
}

const name = fc.constantFrom("a", "b", "c", "d");
type Step = (account: Account) => void;

const step = fc.oneof<fc.Arbitrary<Step>[]>(
  fc.tuple(name, fc.constantFrom(...shapes)).map(
    ([pod, shape]) =>
      (account) =>
        account.see(pod, shape),
  ),
  name.map((pod) => (account) => account.lose(pod)),
  fc.constant((account: Account) => account.reserve()),
  fc.tuple(name, fc.constantFrom("cancel" as const, "outdated" as const)).map(
    ([pod, how]) =>
      (account) =>
        account.end(pod, how),
  ),
);

test("whatever happens, free and reserved pods are those that a plain count gives, and none is offered twice", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const account = new Account();
      for (const act of steps) {
        act(account);
        expect([account.idle.reserved(py), account.idle.free(py), account.wrong]).toEqual([account.held.size, account.free, []]);
      }
    }),
  );
});
