import fc from "fast-check";
import { expect, test } from "vitest";
import { aGroup, ago, aMember, groupNow } from "../../test/world/scaling-groups.ts";
import { decideGroup } from "./decide-group.ts";
import type { GroupMember, GroupPlan, GroupSnapshot } from "./group.ts";
import { WantedWindow } from "./wanted-window.ts";

const modes = fc.constantFrom("Conservative", "Default", "Aggressive", "Demand" as const);
const past = fc.option(fc.integer({ min: 0, max: 400 }).map(ago), { nil: undefined });

const arbitraryMember = (index: number): fc.Arbitrary<GroupMember> =>
  fc
    .record({
      replicas: fc.nat(30),
      bounds: fc.tuple(fc.nat(8), fc.option(fc.nat(30), { nil: undefined })),
      priority: fc.integer({ min: -2, max: 2 }),
      down: fc.integer({ min: -2, max: 2 }),
      idle: fc.nat(10),
      claimed: fc.nat(30),
      waiting: fc.nat(20),
      idleForMs: fc.array(fc.nat(600_000), { maxLength: 10 }),
      isLocal: fc.boolean(),
      full: fc.boolean(),
      result: fc.constantFrom("Enough", "JustRight", "Insufficient" as const),
      times: fc.tuple(past, past, past, past),
    })
    .map(({ bounds: [min, max], times: [up, down, attempt, zero], ...member }) =>
      aMember({
        ...member,
        name: `m${index}`,
        minReplicas: max === undefined ? min : Math.min(min, max),
        maxReplicas: max,
        scaleUpPriority: member.priority,
        scaleDownPriority: member.down,
        lastCreateAtMs: groupNow - 10_000,
        fullBecause: member.full ? "no room" : undefined,
        status: {
          ...(up !== undefined && { lastScaleUpTime: up }),
          ...(down !== undefined && { lastScaleDownTime: down }),
          ...(attempt !== undefined && { lastScaleUpAttemptTime: attempt, lastScaleUpAttemptResult: member.result }),
          ...(zero !== undefined && { idleZeroSince: zero }),
        },
      }),
    );

const arbitraryGroup: fc.Arbitrary<GroupSnapshot> = fc
  .record({
    mode: modes,
    members: fc
      .integer({ min: 1, max: 4 })
      .chain((count) => fc.tuple(...Array.from({ length: count }, (_, index) => arbitraryMember(index)))),
    min: fc.nat(20),
    max: fc.option(fc.nat(60), { nil: undefined }),
    waiting: fc.nat(40),
    spare: fc.nat(20),
    recentPeak: fc.nat(80),
    watched: fc.nat(1_000),
  })
  .map(({ mode, members, min, max, waiting, spare, recentPeak, watched }) =>
    aGroup({
      group: {
        scaleUpPolicy: { mode },
        minReplicas: max === undefined ? min : Math.min(min, max),
        ...(max !== undefined && { maxReplicas: max }),
      },
      members,
      waiting,
      arrivals: { refillMs: 1_000, spare, perSecond: 1 },
      recentPeak,
      watchedSinceMs: groupNow - watched * 1_000,
    }),
  );

const localOf = ({ members }: GroupSnapshot): readonly GroupMember[] => members.filter(({ isLocal }) => isLocal);
const planned = (plan: GroupPlan, { name }: GroupMember): number => plan.members.find((member) => member.name === name)?.replicas ?? -1;
const total = (plan: GroupPlan): number => plan.members.reduce((sum, { replicas }) => sum + replicas, 0);

test("no member and no group is ever planned above its maximum", () => {
  fc.assert(
    fc.property(arbitraryGroup, (snapshot) => {
      const plan = decideGroup(snapshot);
      for (const member of localOf(snapshot)) expect(planned(plan, member)).toBeLessThanOrEqual(member.maxReplicas ?? Infinity);
      const elsewhere = snapshot.members.filter(({ isLocal }) => !isLocal).reduce((sum, { replicas }) => sum + replicas, 0);
      expect(total(plan)).toBeLessThanOrEqual(Math.max(0, (snapshot.group.maxReplicas ?? Infinity) - elsewhere));
    }),
  );
});

test("members that can grow have their minimum, and the group has its minimum as far as they have room", () => {
  fc.assert(
    fc.property(arbitraryGroup, (drawn) => {
      const members = drawn.members.map((member) => ({ ...member, isLocal: true, fullBecause: undefined, status: {} }));
      const snapshot = { ...drawn, members };
      const plan = decideGroup(snapshot);
      const { minReplicas = 0, maxReplicas = Infinity } = snapshot.group;
      const most = members.reduce((sum, member) => sum + (member.maxReplicas ?? Infinity), 0);
      expect(total(plan)).toBeGreaterThanOrEqual(Math.min(minReplicas, maxReplicas, most));
      if (members.reduce((sum, member) => sum + Math.max(member.minReplicas, member.claimed), 0) > maxReplicas) return;
      for (const member of members) expect(planned(plan, member)).toBeGreaterThanOrEqual(member.minReplicas);
    }),
  );
});

test("no number falls below what runs, unless a maximum is below it", () => {
  fc.assert(
    fc.property(arbitraryGroup, (drawn) => {
      const snapshot = { ...drawn, members: drawn.members.map((member) => ({ ...member, maxReplicas: undefined })) };
      const { maxReplicas: _, ...group } = snapshot.group;
      const plan = decideGroup({ ...snapshot, group });
      for (const member of localOf(snapshot)) expect(planned(plan, member)).toBeGreaterThanOrEqual(member.claimed);
    }),
  );
});

test("the same snapshot gives the same plan, in whatever order its members are listed", () => {
  fc.assert(
    fc.property(arbitraryGroup, (snapshot) => {
      const plan = decideGroup(snapshot);
      expect(decideGroup(snapshot)).toEqual(plan);
      const turned = decideGroup({ ...snapshot, members: snapshot.members.toReversed() });
      const byName = ({ members }: GroupPlan) => members.toSorted((one, other) => (one.name < other.name ? -1 : 1));
      expect(byName(turned)).toEqual(byName(plan));
    }),
  );
});

test("in mode Demand more waiting requests, more use or more spare never means fewer pods", () => {
  fc.assert(
    fc.property(arbitraryGroup, fc.nat(10), fc.nat(10), (drawn, waiting, spare) => {
      const snapshot = { ...drawn, group: { ...drawn.group, scaleUpPolicy: { mode: "Demand" as const } } };
      const more = {
        ...snapshot,
        waiting: snapshot.waiting + waiting,
        arrivals: { ...snapshot.arrivals, spare: snapshot.arrivals.spare + spare },
      };
      expect(total(decideGroup(more))).toBeGreaterThanOrEqual(total(decideGroup(snapshot)));
    }),
  );
});

test("every plan explains itself in one line", () => {
  fc.assert(
    fc.property(arbitraryGroup, (snapshot) => {
      const { decision, reason } = decideGroup(snapshot);
      expect(decision).toMatch(/^\d+ wanted: \d+ in use, \d+ waiting/);
      expect(decision).not.toContain("\n");
      expect(reason).not.toBe("");
    }),
  );
});

test("in mode Demand sizes change their direction at most once in a window, whatever is in use", () => {
  const windowMs = 300_000;
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(12), fc.nat(4)), { minLength: 50, maxLength: 200 }), (uses) => {
      const window = new WantedWindow();
      const turns: number[] = [];
      let [replicas, direction] = [0, 0];
      let status = {};
      uses.forEach(([claimed, spare], index) => {
        const nowMs = groupNow + index * 10_000;
        const snapshot = aGroup({
          group: { scaleUpPolicy: { mode: "Demand" } },
          members: [aMember({ replicas, claimed, status })],
          arrivals: { refillMs: 1_000, spare, perSecond: 1 },
          recentPeak: window.largest(windowMs, nowMs),
          nowMs,
        });
        const plan = decideGroup(snapshot);
        window.note(plan.wanted, nowMs);
        const next = plan.members[0]?.replicas ?? 0;
        if (next > replicas) status = { ...status, lastScaleUpTime: new Date(nowMs).toISOString() };
        if (next < replicas) status = { ...status, lastScaleDownTime: new Date(nowMs).toISOString() };
        const now = Math.sign(next - replicas);
        if (now < 0 && direction > 0) turns.push(nowMs);
        if (now !== 0) direction = now;
        replicas = next;
      });
      // From up to down: never twice in a window, for a number that went up is held for as long.
      turns.forEach((at, index) => expect(at - (turns[index - 1] ?? -Infinity)).toBeGreaterThanOrEqual(windowMs));
    }),
  );
});
