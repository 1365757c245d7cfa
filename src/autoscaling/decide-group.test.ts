import { describe, expect, test } from "vitest";
import { aGroup, ago, aMember, groupNow } from "../../test/world/scaling-groups.ts";
import { decideGroup } from "./decide-group.ts";
import type { GroupSnapshot } from "./group.ts";

const sizes = (snapshot: GroupSnapshot): Record<string, number> =>
  Object.fromEntries(decideGroup(snapshot).members.map(({ name, replicas }) => [name, replicas]));
const mode = (word: "Conservative" | "Default" | "Aggressive" | "Demand") => ({ scaleUpPolicy: { mode: word } });

describe("growth by steps", () => {
  const starved = { idle: 0, waiting: 3, claimed: 6, replicas: 6 };

  test("a waiting request without an idle pod grows the stock by one, by half, or to twice as many", () => {
    const grown = (word: "Conservative" | "Default" | "Aggressive") =>
      sizes(aGroup({ group: { ...mode(word), maxReplicas: 100 }, waiting: 3, members: [aMember(starved)] }))["a"];
    expect([grown("Conservative"), grown("Default"), grown("Aggressive")]).toEqual([7, 9, 12]);
  });

  test("an empty member grows to one pod in every mode", () => {
    const members = [aMember({ replicas: 0, waiting: 1 })];
    for (const word of ["Conservative", "Default", "Aggressive"] as const) {
      expect(sizes(aGroup({ group: { ...mode(word), maxReplicas: 9 }, waiting: 1, members }))).toEqual({ a: 1 });
    }
  });

  test("no growth within the cool-down of the last one, and growth after it", () => {
    const after = (seconds: number) =>
      decideGroup(aGroup({ waiting: 3, members: [aMember({ ...starved, status: { lastScaleUpTime: ago(seconds) } })] }));
    expect(after(29)).toMatchObject({ reason: "cooldown", members: [{ replicas: 6 }] });
    expect(after(30)).toMatchObject({ reason: "waiting", members: [{ replicas: 9 }] });
  });

  test("a member that was refused counts as full until its saturation cool-down is over", () => {
    const status = (seconds: number) => ({ lastScaleUpAttemptTime: ago(seconds), lastScaleUpAttemptResult: "Insufficient" as const });
    const after = (seconds: number) => decideGroup(aGroup({ waiting: 3, members: [aMember({ ...starved, status: status(seconds) })] }));
    expect(after(59).reason).toBe("saturated");
    expect(after(60).reason).toBe("waiting");
  });

  test("a member without an idle pod grows by itself after the threshold if a request came within the quiet window", () => {
    const members = (zero: number, create: number) => [
      aMember({ claimed: 2, status: { idleZeroSince: ago(zero) }, lastCreateAtMs: groupNow - create * 1000 }),
    ];
    const reason = (zero: number, create: number) => decideGroup(aGroup({ members: members(zero, create) })).reason;
    expect([reason(29, 10), reason(30, 10), reason(30, 301)]).toEqual(["steady", "idle-zero", "steady"]);
    const group = { scaleUpPolicy: { idleZeroQuietWindowSeconds: 0 } };
    expect(decideGroup(aGroup({ group, members: members(30, 301) })).reason).toBe("idle-zero");
    expect(decideGroup(aGroup({ group: { scaleUpPolicy: { idleThresholdSeconds: 0 } }, members: members(90, 1) })).reason).toBe("steady");
  });

  test("a member yields to a preferred one that lacks pods as long and can still grow", () => {
    const lacking = { claimed: 2, status: { idleZeroSince: ago(60) }, lastCreateAtMs: groupNow };
    const two = (max?: number) => [
      aMember({ ...lacking, name: "a", scaleUpPriority: 1 }),
      aMember({ ...lacking, name: "b", scaleUpPriority: 0, maxReplicas: max }),
    ];
    expect(sizes(aGroup({ members: two() }))).toEqual({ a: 2, b: 3 });
    expect(sizes(aGroup({ members: two(2) }))).toEqual({ a: 3, b: 2 });
  });

  test("W15: the number follows what runs at once, however many pods were made for waiting requests", () => {
    const plan = decideGroup(aGroup({ members: [aMember({ replicas: 1, claimed: 100, status: { lastScaleUpTime: ago(1) } })] }));
    expect(plan).toMatchObject({ reason: "in-use", members: [{ replicas: 100, grows: true }] });
  });

  test("since when a member has no idle pod is kept, and forgotten when it has one", () => {
    const since = (idle: number, status = {}) => decideGroup(aGroup({ members: [aMember({ idle, status })] })).members[0]?.idleZeroSince;
    expect(since(0)).toBe("2026-01-01T12:00:00Z");
    expect(since(0, { idleZeroSince: ago(50) })).toBe(ago(50));
    expect(since(1, { idleZeroSince: ago(50) })).toBeUndefined();
  });
});

describe("bounds", () => {
  test("W17: minima of group and member raise the number of pods", () => {
    const members = [
      aMember({ name: "a", replicas: 0, minReplicas: 1 }),
      aMember({ name: "b", replicas: 0, scaleUpPriority: -1, maxReplicas: 2 }),
    ];
    expect(sizes(aGroup({ group: { minReplicas: 5 }, members }))).toEqual({ a: 3, b: 2 });
  });

  test("W17: siblings that grow in one decision stay inside the group's maximum together", () => {
    const lacking = { replicas: 4, claimed: 4, waiting: 9 };
    const members = [aMember({ ...lacking, name: "a" }), aMember({ ...lacking, name: "b" })];
    expect(sizes(aGroup({ group: { maxReplicas: 9 }, waiting: 9, members }))).toEqual({ a: 5, b: 4 });
  });

  test("W17: the member with the higher scaleDownPriority shrinks first", () => {
    const old = { replicas: 4, idle: 4, idleForMs: [400_000, 400_000, 400_000, 400_000] };
    const members = [aMember({ ...old, name: "keep", scaleDownPriority: 1 }), aMember({ ...old, name: "go", scaleDownPriority: 2 })];
    expect(sizes(aGroup({ group: { minReplicas: 6 }, members }))).toEqual({ keep: 4, go: 2 });
  });

  test("members of another cluster count in the group's maximum and are not changed", () => {
    const members = [
      aMember({ name: "a", replicas: 2, waiting: 5, claimed: 2 }),
      aMember({ name: "far", clusterID: "z", isLocal: false, replicas: 7 }),
    ];
    expect(sizes(aGroup({ group: { maxReplicas: 10, ...mode("Aggressive") }, waiting: 5, members }))).toEqual({ a: 3 });
  });

  test("a schedule is a floor while it lasts, and says so", () => {
    const schedules = [{ name: "noon", start: "0 12 * * *", durationSeconds: 3600, minReplicas: 8 }];
    const plan = decideGroup(aGroup({ group: { schedules } }));
    expect(plan).toMatchObject({ reason: "schedule", members: [{ replicas: 8 }] });
    expect(plan.decision).toContain("schedule noon");
    expect(sizes(aGroup({ group: { schedules }, nowMs: groupNow - 60_000 }))).toEqual({ a: 2 });
  });

  test("of a group that is off nothing changes", () => {
    expect(decideGroup(aGroup({ group: { enabled: false, minReplicas: 9 }, waiting: 5 }))).toMatchObject({
      reason: "disabled",
      members: [{ replicas: 2, grows: false }],
    });
  });
});

describe("shrinking", () => {
  const idle = (ms: number, count: number) => ({ replicas: count, idle: count, idleForMs: Array.from({ length: count }, () => ms) });

  test("W19: pods go by how long they were idle, several in a step", () => {
    const members = [aMember({ replicas: 6, idle: 6, idleForMs: [900_000, 800_000, 700_000, 301_000, 299_000, 0] })];
    expect(decideGroup(aGroup({ members }))).toMatchObject({ reason: "idle", members: [{ replicas: 4 }] });
  });

  test("nothing shrinks while requests wait, nor within the stabilization time of the last step", () => {
    expect(sizes(aGroup({ waiting: 1, members: [aMember(idle(400_000, 4))] }))).toEqual({ a: 4 });
    const step = (seconds: number) =>
      sizes(aGroup({ members: [aMember({ ...idle(400_000, 4), status: { lastScaleDownTime: ago(seconds) } })] }));
    expect([step(59), step(60)]).toEqual([{ a: 4 }, { a: 2 }]);
  });

  test("nothing shrinks before a whole window is over since any member grew by a step, or the group would swing", () => {
    const grown = (seconds: number) =>
      decideGroup(aGroup({ members: [aMember({ ...idle(900_000, 4), status: { lastScaleUpTime: ago(seconds) } })] }));
    expect(grown(359)).toMatchObject({ reason: "watching", members: [{ replicas: 4 }], againInMs: 1_000 });
    expect(grown(360)).toMatchObject({ reason: "idle", members: [{ replicas: 2 }] });
  });

  test("after a restart nothing shrinks until a whole window was seen", () => {
    const after = (seconds: number) =>
      decideGroup(aGroup({ watchedSinceMs: groupNow - seconds * 1000, members: [aMember(idle(900_000, 4))] }));
    expect(after(299)).toMatchObject({ reason: "watching", members: [{ replicas: 4 }], againInMs: 1_000 });
    expect(after(300)).toMatchObject({ reason: "idle", members: [{ replicas: 2 }] });
  });

  test("the start of a scale-down is told", () => {
    expect(decideGroup(aGroup({ members: [aMember(idle(400_000, 2))] })).events).toMatchObject([
      { reason: "AutoscalerScaleDownStarted", member: "a", message: expect.stringMatching(/^from 2 to 1 pods: /) },
    ]);
  });
});

describe("mode Demand", () => {
  const demand = (more: Parameters<typeof aGroup>[0]) => aGroup({ ...more, group: { ...mode("Demand"), ...more?.group } });
  const arrivals = { refillMs: 1_200, spare: 5, perSecond: 3.1 };

  test("wants what is in use, what waits and the spare, at once, and says so in one sentence", () => {
    const plan = decideGroup(
      demand({ arrivals, waiting: 2, members: [aMember({ replicas: 3, claimed: 7, status: { lastScaleUpTime: ago(1) } })] }),
    );
    expect(plan).toMatchObject({ reason: "demand", members: [{ replicas: 14 }], wanted: 14, spare: 5 });
    expect(plan.decision).toBe("14 wanted: 7 in use, 2 waiting, 5 spare for 3.1/s over 1.2 s");
  });

  test("W15: a hundred waiting requests are a hundred pods more in one decision", () => {
    expect(sizes(demand({ waiting: 100, members: [aMember({ replicas: 1, claimed: 1 })] }))).toEqual({ a: 101 });
  });

  test("keeps what was wanted within the idle timeout, and lets the rest go in one step", () => {
    const members = [aMember({ replicas: 20, idle: 16, claimed: 4 })];
    expect(decideGroup(demand({ arrivals, members, recentPeak: 20 }))).toMatchObject({ reason: "held", members: [{ replicas: 20 }] });
    expect(decideGroup(demand({ arrivals, members, recentPeak: 12 }))).toMatchObject({ reason: "idle", members: [{ replicas: 12 }] });
  });

  test("goes to zero when nothing is wanted and the minimum allows it", () => {
    expect(sizes(demand({ members: [aMember({ replicas: 3, idle: 3 })] }))).toEqual({ a: 0 });
    expect(sizes(demand({ group: { minReplicas: 2 }, members: [aMember({ replicas: 3, idle: 3 })] }))).toEqual({ a: 2 });
  });

  test("what does not fit on a full member goes to its sibling", () => {
    const members = [aMember({ name: "a", fullBecause: "no node has room" }), aMember({ name: "b", scaleUpPriority: 5 })];
    expect(sizes(demand({ arrivals, waiting: 4, members }))).toEqual({ a: 2, b: 7 });
  });
});
