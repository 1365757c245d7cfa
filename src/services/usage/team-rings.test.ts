import { expect, test } from "vitest";
import { TeamRings } from "./team-rings.ts";

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

test("of a team the latest are kept, in their order", () => {
  const rings = new TeamRings<number>({ ofTeam: 10, ofAll: 1000 });
  for (const number of numbers(95)) rings.add("red", number);
  const kept = rings.of("red");
  expect(kept.length).toBeGreaterThanOrEqual(10);
  expect(kept.length).toBeLessThan(20);
  expect(kept).toEqual(numbers(95).slice(-kept.length));
});

test("a team that does very much pushes out nothing of another's", () => {
  const rings = new TeamRings<number>({ ofTeam: 100, ofAll: 150 });
  for (const number of numbers(10)) rings.add("blue", number);
  for (const number of numbers(10_000)) rings.add("red", number);
  expect(rings.of("blue")).toEqual(numbers(10));
  expect(rings.of("red").at(-1)).toBe(9999);
});

test("any number of teams have no more than the bound together", () => {
  const rings = new TeamRings<number>({ ofTeam: 100, ofAll: 150 });
  for (const number of numbers(5000)) {
    rings.add(`team-${number}`, number);
    expect([...rings.all()].length).toBeLessThanOrEqual(150);
  }
});
