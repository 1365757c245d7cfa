import { describe, expect, test } from "vitest";
import { Lanes } from "./lanes.ts";

/** Keys are `team/name`; a team has two places, all teams together three. */
const perTeam = (key: string): { name: string; most: number }[] => [
  { name: "all", most: 3 },
  { name: `team ${key.split("/")[0]}`, most: 2 },
];

function taken(lanes: Lanes): string[] {
  const keys: string[] = [];
  for (let next = lanes.next(); next !== undefined; next = lanes.next()) keys.push(next.key);
  return keys;
}

test("lanes take turns, and a team that has its places holds up no other", () => {
  const lanes = new Lanes(perTeam);
  for (const key of ["a/1", "a/2", "a/3", "a/4", "b/1", "b/2"]) lanes.add(key, 0);
  expect(taken(lanes)).toEqual(["a/1", "b/1", "a/2"]);
  expect(lanes.size).toBe(3);
  lanes.giveBack(perTeam("a/1"));
  expect(taken(lanes)).toEqual(["b/2"]);
  lanes.giveBack(perTeam("b/1"));
  lanes.giveBack(perTeam("b/2"));
  // One place of all is free, and one of the team.
  expect(taken(lanes)).toEqual(["a/3"]);
});

test("a key waits once; one that belongs into another lane by now moves there and has waited as long", () => {
  let isLeaving = false;
  const lanes = new Lanes((key) => [{ name: isLeaving && key === "x" ? "removals" : "starts", most: 1 }]);
  expect([lanes.add("y", 1), lanes.add("x", 2), lanes.add("x", 3)]).toEqual([true, true, false]);
  expect(lanes.next()).toMatchObject({ key: "y", since: 1 });
  expect(lanes.next()).toBeUndefined();
  isLeaving = true;
  expect(lanes.add("x", 4)).toBe(false);
  expect(lanes.next()).toMatchObject({ key: "x", since: 2 });
  expect(lanes.size).toBe(0);
});

test("a key that was taken out is passed over", () => {
  const lanes = new Lanes(perTeam);
  lanes.add("a/1", 0);
  lanes.add("a/2", 0);
  expect([lanes.remove("a/1"), lanes.remove("a/1")]).toEqual([true, false]);
  expect(taken(lanes)).toEqual(["a/2"]);
});

test("what was cleared waits no longer, and places that are taken stay so", () => {
  const lanes = new Lanes(() => [{ name: "one", most: 1 }]);
  lanes.add("a", 0);
  lanes.add("b", 0);
  const first = lanes.next();
  lanes.clear();
  lanes.add("c", 0);
  expect(lanes.next()).toBeUndefined();
  lanes.giveBack(first?.places ?? []);
  expect(lanes.next()).toMatchObject({ key: "c" });
});

describe("places that are kept for owners that have none", () => {
  /** Four places of all, of which one is kept; an owner has three at most. */
  const shared = (key: string) => {
    const own = `team ${key.split("/")[0]}`;
    return [
      { name: "all", most: 4, kept: { count: 1, unless: own } },
      { name: own, most: 3 },
    ];
  };
  const waiting = (...keys: string[]): Lanes => {
    const lanes = new Lanes(shared);
    for (const key of keys) lanes.add(key, 0);
    return lanes;
  };

  test("are not taken by two owners together, and the third one has its place at once", () => {
    const lanes = waiting("a/1", "a/2", "a/3", "b/1", "b/2", "b/3");
    expect(taken(lanes)).toEqual(["a/1", "b/1", "a/2"]);
    lanes.add("c/1", 0);
    expect(taken(lanes)).toEqual(["c/1"]);
  });

  test("go to the next owner in turn when all are taken, and each owner waits for a bounded number of turns", () => {
    const lanes = waiting("a/1", "a/2", "b/1", "b/2", "c/1", "d/1", "e/1");
    expect(taken(lanes)).toEqual(["a/1", "b/1", "c/1", "d/1"]);
    lanes.giveBack(shared("a/1"));
    expect(taken(lanes)).toEqual(["e/1"]);
    lanes.giveBack(shared("b/1"));
    expect(taken(lanes)).toEqual(["a/2"]);
  });

  test("are for an owner alone on the machine no more than for two", () => {
    expect(taken(waiting("a/1", "a/2", "a/3", "a/4"))).toEqual(["a/1", "a/2", "a/3"]);
  });
});

describe("ranks", () => {
  const one = () => [{ name: "one", most: 1 }];
  const order = (lanes: Lanes): string[] => {
    const keys: string[] = [];
    for (let next = lanes.next(); next !== undefined; next = lanes.next()) {
      keys.push(next.key);
      lanes.giveBack(next.places);
    }
    return keys;
  };

  test("keys that a request waits for go first, and looks at what is as it was go last", () => {
    const lanes = new Lanes(one);
    lanes.add("look", 0, "routine");
    lanes.add("change", 0);
    lanes.add("request", 0, "first");
    expect(order(lanes)).toEqual(["request", "change", "look"]);
  });

  test("a key that waits moves to a higher rank, never to a lower one, and has waited since it came", () => {
    const lanes = new Lanes(one);
    expect([lanes.add("a", 1, "routine"), lanes.add("b", 2), lanes.add("c", 3, "first")]).toEqual([true, true, true]);
    expect([lanes.add("a", 4, "first"), lanes.add("b", 5, "routine"), lanes.add("c", 6)]).toEqual([false, false, false]);
    expect(lanes.size).toBe(3);
    expect(lanes.next()).toMatchObject({ key: "c", since: 3 });
    lanes.giveBack(one());
    expect(lanes.next()).toMatchObject({ key: "a", since: 1 });
  });

  test("the lowest rank has one of eight turns, however much is wanted of the others", () => {
    const lanes = new Lanes(one);
    for (let index = 0; index < 20; index++) lanes.add(`look ${index}`, 0, "routine");
    for (let index = 0; index < 80; index++) lanes.add(`change ${index}`, 0);
    expect(
      order(lanes)
        .slice(0, 80)
        .filter((key) => key.startsWith("look")),
    ).toHaveLength(10);
  });

  test("usual work has its turns, however much requests wait for and however much is only looked at", () => {
    const lanes = new Lanes(one);
    for (let index = 0; index < 80; index++) {
      lanes.add(`look ${index}`, 0, "routine");
      lanes.add(`change ${index}`, 0);
      lanes.add(`request ${index}`, 0, "first");
    }
    const kinds = Map.groupBy(order(lanes).slice(0, 80), (key) => key.split(" ")[0]);
    expect(["request", "change", "look"].map((kind) => kinds.get(kind)?.length)).toEqual([60, 10, 10]);
  });
});
