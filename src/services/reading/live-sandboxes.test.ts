import fc from "fast-check";
import { expect, test } from "vitest";
import { aSandboxPod } from "../../../test/world/sandbox-pods.ts";
import { annotationKeys, labelKeys, type SandboxPhase, sandboxPhases } from "#model/keys.ts";
import type { ObjectKey } from "#kube/object-client.ts";
import type { Pod } from "#model/pod.ts";
import { liveRecordFromPod } from "#sandbox/sandbox-base.ts";
import type { HistoryScope } from "#store/history-store.ts";
import { isInScope } from "#store/matches-filter.ts";
import { compareKeys } from "#store/record-key.ts";
import { LiveSandboxes } from "./live-sandboxes.ts";

type Handler = (now: Pod | undefined, before: Pod | undefined) => void;

/** Pods that a test sets, and the listeners that hear of it. */
class Pods {
  readonly held = new Map<string, Pod>();
  #handler: Handler = () => {};

  get({ name }: ObjectKey): Pod | undefined {
    return this.held.get(name);
  }

  onChange(handler: Handler) {
    this.#handler = handler;
    return { synced: true, whenSynced: async () => {}, remove: () => void (this.#handler = () => {}) };
  }

  set(name: string, pod: Pod | undefined): void {
    const before = this.held.get(name);
    if (pod === undefined) this.held.delete(name);
    else this.held.set(name, pod);
    if (pod !== undefined || before !== undefined) this.#handler(pod, before);
  }
}

function aPod(name: string, id: string, more: { phase?: SandboxPhase; team?: string; user?: string; pool?: string; at?: number }): Pod {
  const { phase = "running", team = "red", user = "ann", pool = "py", at = 0 } = more;
  const pod = aSandboxPod(name, { id, user, pool, phase });
  const claimedAt = new Date(Date.UTC(2026, 0, 1) + at * 1000).toISOString();
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { ...pod.metadata.labels, [labelKeys.team]: team },
      annotations: { [annotationKeys.claimedAt]: claimedAt },
    },
  };
}

const scopes: readonly HistoryScope[] = [
  { kind: "admin" },
  { kind: "tenant", team: "red" },
  { kind: "tenant", team: "red", user: "ann" },
  { kind: "tenant", team: "blue", user: "eve" },
];

const change = fc.record({
  name: fc.constantFrom("p1", "p2", "p3", "p4", "p5", "p6"),
  gone: fc.boolean(),
  id: fc.constantFrom("i1", "i2", "i3", "i4", "i5", "i6", "i7"),
  phase: fc.constantFrom(...sandboxPhases),
  team: fc.constantFrom("red", "blue"),
  user: fc.constantFrom("ann", "eve"),
  pool: fc.constantFrom("py", "js"),
  at: fc.integer({ min: 0, max: 3 }),
});

test("whatever happens to pods, lists and counts are those of the pods that there are", () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      const pods = new Pods();
      using live = new LiveSandboxes(pods);
      for (const { name, gone, id, ...more } of changes) pods.set(name, gone ? undefined : aPod(name, id, more));
      const records = [...pods.held.values()].flatMap((pod) => liveRecordFromPod(pod) ?? []);
      for (const scope of scopes) {
        const mine = records.filter((record) => isInScope(record, scope)).sort(compareKeys);
        const listed = [...live.newestFirst({ scope })];
        // One place in the list for each sandbox, however many pods say that they carry it.
        const places = new Set(mine.map(({ claimedAt, sandboxId }) => `${claimedAt} ${sandboxId}`));
        expect(listed.map(({ claimedAt, sandboxId }) => `${claimedAt} ${sandboxId}`)).toEqual([...places]);
        const { total, byStatus, byPool } = live.counts(scope);
        expect(total).toBe(mine.length);
        expect(Object.fromEntries(byStatus)).toEqual(countBy(mine.map(({ status }) => status)));
        expect(Object.fromEntries(byPool)).toEqual(countBy(mine.map(({ poolName }) => poolName)));
      }
    }),
  );
});

function countBy(values: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries([...Map.groupBy(values, (value) => value)].map(([value, all]) => [value, all.length]));
}

test("two pods that say that they carry one sandbox have one place in the list", () => {
  const pods = new Pods();
  using live = new LiveSandboxes(pods);
  for (const name of ["p1", "p2"]) pods.set(name, aPod(name, "i1", {}));
  expect([...live.newestFirst({ scope: { kind: "admin" } })]).toHaveLength(1);
  pods.set("p1", undefined);
  expect([...live.newestFirst({ scope: { kind: "admin" } })]).toHaveLength(1);
});

test("a list goes on behind any place, whether or not there is a sandbox at it", () => {
  const pods = new Pods();
  using live = new LiveSandboxes(pods);
  for (let index = 0; index < 5; index++) pods.set(`p${index}`, aPod(`p${index}`, `i${index}`, { at: index }));
  const behind = (second: number, sandboxId: string) => {
    const after = { claimedAt: new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString(), sandboxId };
    return [...live.newestFirst({ scope: { kind: "admin" }, after })].map((record) => record.sandboxId);
  };
  expect(behind(3, "i3")).toEqual(["i2", "i1", "i0"]);
  expect(behind(3, "i2")).toEqual(["i2", "i1", "i0"]);
  expect(behind(3, "i4")).toEqual(["i3", "i2", "i1", "i0"]);
  expect(behind(9, "x")).toHaveLength(5);
});

test("who follows a sandbox hears of its pods, also of one that leaves it, and of nothing else", () => {
  const pods = new Pods();
  using live = new LiveSandboxes(pods);
  let heard = 0;
  const end = live.follow("i1", () => (heard += 1));
  pods.set("p1", aPod("p1", "i1", {}));
  pods.set("p2", aPod("p2", "i2", {}));
  expect(heard).toBe(1);
  pods.set("p1", aPod("p1", "i3", {}));
  expect(heard).toBe(2);
  pods.set("p1", aPod("p1", "i4", {}));
  end();
  pods.set("p2", aPod("p2", "i1", {}));
  expect(heard).toBe(2);
});
