import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { eligibleMembers, type MemberTraits, routeOrder, type RouteStanding, type RouteWishes } from "./route-to-pools.ts";

const ref = (name: string) => ({ namespace: "ns", name });
const member = (name: string, more: Partial<MemberTraits> = {}): MemberTraits => ({ pool: ref(name), isDeleting: false, ...more });
const namesOf = (members: readonly { readonly pool: { readonly name: string } }[]): readonly string[] =>
  members.map(({ pool }) => pool.name);

function chosen(members: readonly MemberTraits[], wishes: RouteWishes, defaults?: { instanceType: string; multiplier: number }): unknown {
  const found = eligibleMembers({ what: "Env e", defaults }, members, wishes);
  return found.kind === "members" ? namesOf(found.members) : found;
}

const gibibyte = 2 ** 30;
const small = member("small", { instanceType: "cpu", multiplier: 1, scalingGroup: "a", cpu: 1, memory: gibibyte, version: "1" });
const large = member("large", { instanceType: "cpu", multiplier: 4, scalingGroup: "b", cpu: 4, memory: 4 * gibibyte, version: "2" });
const other = member("other", { instanceType: "mem", multiplier: 1, scalingGroup: "b", cpu: 1, memory: 8 * gibibyte, version: "2" });

describe("which members of an Env can serve a request", () => {
  test("a request without wishes may go to every member", () => {
    expect(chosen([small, large, other], {})).toEqual(["small", "large", "other"]);
  });

  test("instance type, multiplier, scaling group and version are all fulfilled", () => {
    expect(chosen([small, large, other], { instanceType: "cpu" })).toEqual(["small", "large"]);
    expect(chosen([small, large, other], { instanceType: "cpu", multiplier: 4 })).toEqual(["large"]);
    expect(chosen([small, large, other], { scalingGroup: "b" })).toEqual(["large", "other"]);
    expect(chosen([small, large, other], { version: "1" })).toEqual(["small"]);
  });

  test("a wish that no member fulfils is refused with the field and what is available after the wishes before it", () => {
    expect(chosen([small, large, other], { scalingGroup: "b", instanceType: "gpu" })).toEqual({
      kind: "refused",
      field: "instanceType",
      message: 'Env e offers no sandbox with instanceType "gpu"; available: cpu, mem',
      available: ["cpu", "mem"],
    });
    expect(chosen([small, large, other], { instanceType: "mem", multiplier: 4 })).toMatchObject({ field: "multiplier", available: ["1"] });
  });

  test("the Env's default size is used where the request names none", () => {
    const defaults = { instanceType: "cpu", multiplier: 1 };
    expect(chosen([small, large, other], {}, defaults)).toEqual(["small"]);
    expect(chosen([small, large, other], { instanceType: "mem" }, defaults)).toEqual(["other"]);
    expect(chosen([small, large, other], { multiplier: 4 }, defaults)).toEqual(["large"]);
  });

  test("a default size that no member in question has excludes none", () => {
    const defaults = { instanceType: "cpu", multiplier: 1 };
    expect(chosen([large, other], {}, defaults)).toEqual(["large", "other"]);
    expect(chosen([small, large, other], { scalingGroup: "b" }, defaults)).toEqual(["large", "other"]);
  });

  test("of the members that are large enough the smallest serves the request, with all others of that size", () => {
    const twin = { ...small, pool: ref("twin") };
    expect(chosen([large, other, small, twin], { cpu: 1, memory: gibibyte })).toEqual(["small", "twin"]);
    expect(chosen([large, other, small], { memory: 2 * gibibyte })).toEqual(["other"]);
    expect(chosen([large, other, small], { cpu: 2 })).toEqual(["large"]);
    expect(chosen([small, member("open")], { cpu: 64 }), "nothing limits it").toEqual(["open"]);
  });

  test("a size that no member has is refused with the sizes that there are", () => {
    expect(chosen([large, small], { cpu: 8, memory: gibibyte })).toEqual({
      kind: "refused",
      field: "cpu",
      message: "Env e offers no sandbox with at least 8 CPU and 1024 MiB; available: 1 CPU and 1024 MiB, 4 CPU and 4096 MiB",
      available: ["1 CPU and 1024 MiB", "4 CPU and 4096 MiB"],
    });
  });

  test("members that are being deleted serve nothing", () => {
    expect(chosen([{ ...small, isDeleting: true }, large], {})).toEqual(["large"]);
    expect(chosen([{ ...small, isDeleting: true }], {})).toMatchObject({
      kind: "refused",
      message: "Env e has no pool to create a sandbox from",
    });
  });
});

const standing = (name: string, more: Partial<RouteStanding> = {}): RouteStanding => ({
  pool: ref(name),
  priority: 0,
  readyOnImage: 0,
  readyIdle: 0,
  isSaturated: false,
  isAtCeiling: false,
  ...more,
});

describe("in which order members are asked for a pod", () => {
  test("W18: a pool with a ready pod goes before a preferred pool without one", () => {
    const preferred = standing("preferred", { priority: -10 });
    const warm = standing("warm", { priority: 99, readyIdle: 1 });
    const hot = standing("hot", { priority: 100, readyIdle: 1, readyOnImage: 1 });
    expect(namesOf(routeOrder([preferred, warm, hot]))).toEqual(["hot", "warm", "preferred"]);
  });

  test("a pool that can grow goes before one that is full, whatever their priorities", () => {
    const saturated = standing("saturated", { priority: -2, isSaturated: true });
    const full = standing("full", { priority: -1, isAtCeiling: true });
    expect(namesOf(routeOrder([saturated, full, standing("open", { priority: 5 })]))).toEqual(["open", "saturated", "full"]);
  });

  test("among equals the lower priority goes first, then more idle pods, then the name", () => {
    const idle = (name: string, priority: number, readyIdle: number): RouteStanding => standing(name, { priority, readyIdle });
    expect(namesOf(routeOrder([idle("d", 0, 1), idle("c", 0, 1), idle("b", 0, 9), idle("a", 1, 50)]))).toEqual(["b", "c", "d", "a"]);
  });

  const standings = fc.uniqueArray(
    fc.record({
      pool: fc.string({ minLength: 1 }).map(ref),
      priority: fc.integer({ min: -3, max: 3 }),
      readyOnImage: fc.nat(2),
      readyIdle: fc.nat(3),
      isSaturated: fc.boolean(),
      isAtCeiling: fc.boolean(),
    }),
    { selector: ({ pool }) => pool.name },
  );

  test("the order does not depend on how members are listed, and loses none", () => {
    fc.assert(
      fc.property(standings, (members) => {
        const order = namesOf(routeOrder(members));
        expect(namesOf(routeOrder([...members].reverse()))).toEqual(order);
        expect(new Set(order)).toEqual(new Set(namesOf(members)));
      }),
    );
  });

  test("no pool without a ready pod stands before one with a ready pod", () => {
    fc.assert(
      fc.property(standings, (members) => {
        const isWarm = routeOrder(members).map(({ readyIdle, readyOnImage }) => readyIdle + readyOnImage > 0);
        expect(isWarm.lastIndexOf(true)).toBe(isWarm.filter(Boolean).length - 1);
      }),
    );
  });
});
