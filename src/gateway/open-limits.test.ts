import { expect, test } from "vitest";
import { OpenOfTeams } from "./open-limits.ts";

test("open requests are counted by team, except those without an owner", () => {
  const teams = new OpenOfTeams((team) => (team === "red" ? 2 : undefined));
  const ends = [teams.begin("red"), teams.begin("red")];
  for (let more = 0; more < 9; more++) teams.begin("");
  expect([teams.reached("red"), teams.reached("blue"), teams.reached("")]).toEqual([2, undefined, undefined]);
  ends[0]?.();
  expect(teams.reached("red")).toBeUndefined();
});
