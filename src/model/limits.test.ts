import fc from "fast-check";
import { expect, test } from "vitest";
import { limitsConfigMap, readLimits, serverLimit, serverLimits, setUserLimit, teamLimit, teamLimits, userLimits } from "./limits.ts";

const values = (known: object): fc.Arbitrary<Record<string, number>> =>
  fc.dictionary(fc.constantFrom(...Object.keys(known)), fc.nat(1000), { noNullPrototype: true });
const names = fc.stringMatching(/^[a-zA-Z0-9]([-_.a-zA-Z0-9]{0,10}[a-zA-Z0-9])?$/);
const tables = fc.record({
  server: values(serverLimits),
  everyTeam: values(teamLimits),
  teams: fc.dictionary(fc.stringMatching(/^[a-zA-Z0-9]([-_.a-zA-Z0-9]{0,10}[a-zA-Z0-9])?$/), values(teamLimits), { noNullPrototype: true }),
  users: fc.dictionary(names, fc.dictionary(fc.oneof(names, fc.constant("*")), values(userLimits), { noNullPrototype: true }), {
    noNullPrototype: true,
  }),
});

const isFilled = ([, set]: readonly [string, object]): boolean => Object.keys(set).length > 0;

test("what is written is what is read again, whatever teams are called", () => {
  fc.assert(
    fc.property(tables, (table) => {
      const teams = Object.fromEntries(Object.entries(table.teams).filter(isFilled));
      const users = Object.entries(table.users)
        .map(([team, set]) => [team, Object.fromEntries(Object.entries(set).filter(isFilled))] as const)
        .filter(isFilled);
      const { users: _, ...others } = table;
      const wanted = { ...others, teams, ...(users.length > 0 && { users: Object.fromEntries(users) }) };
      expect(readLimits(limitsConfigMap("ns", table))).toEqual(wanted);
    }),
  );
});

test("a team's own limit goes before that of every team, and that before the usual one", () => {
  const table = readLimits({ data: { teams: '{"pods":7,"pools":3}', "team.red": '{"pods":9}', server: '{"pods":11}' } });
  expect([teamLimit(table, "red", "pods"), teamLimit(table, "red", "pools"), teamLimit(table, "red", "keys")]).toEqual([9, 3, 100]);
  expect([teamLimit(table, "blue", "pods"), teamLimit(table, "constructor", "pods"), serverLimit(table, "pods")]).toEqual([7, 7, 11]);
});

test.each(["", "no JSON", "[]", "null", '{"pods":-1}', '{"pods":"9"}', '{"pods":1.5}', '{"pods":null}', '{"nothing":1}'])(
  "%j sets nothing",
  (text) => {
    expect(readLimits({ data: { teams: text, server: text, "team.red": text } })).toEqual({
      server: {},
      everyTeam: {},
      teams: { red: {} },
    });
  },
);

test("a user's own limit goes before that of every user of the team; without either there is none", () => {
  const table = readLimits({
    data: { "users.red": '{"ann":{"sandboxes":4},"*":{"sandboxes":2,"cpu":1},"bob":7}', "users.blue": "no JSON" },
  });
  const of = (user: string, team = "red") => setUserLimit(table, { team, user }, "sandboxes");
  expect([of("ann"), of("bob"), of("constructor"), of("ann", "blue"), of("ann", "constructor")]).toEqual([4, 2, 2, undefined, undefined]);
  expect(setUserLimit(table, { team: "red", user: "ann" }, "cpu")).toBe(1);
});
