import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { labelKeys } from "#model/keys.ts";
import type { ApiObject } from "#model/meta.ts";
import { type Caller, mayUse, owns, scopeOf } from "./caller.ts";

function ownedBy(team?: string, user?: string): ApiObject {
  const labels = {
    ...(team === undefined ? {} : { [labelKeys.team]: team }),
    ...(user === undefined ? {} : { [labelKeys.user]: user }),
  };
  return { metadata: { name: "thing", labels } };
}

const admin: Caller = { role: "admin", team: "", keyId: "k0" };
const redTeam: Caller = { role: "tenant", team: "red", keyId: "k1" };
const redAnn: Caller = { role: "tenant", team: "red", user: "ann", keyId: "k2" };
const nobody: Caller = { role: "tenant", team: "", keyId: "k3" };

describe("who owns what", () => {
  test.each([
    ["an admin owns everything", admin, ownedBy("blue", "bob"), true],
    ["an admin owns what has no owner", admin, ownedBy(), true],
    ["a team owns what its users have", redTeam, ownedBy("red", "ann"), true],
    ["a team owns what it has itself", redTeam, ownedBy("red"), true],
    ["a team does not own what another has", redTeam, ownedBy("blue"), false],
    ["a user owns his own", redAnn, ownedBy("red", "ann"), true],
    ["a user does not own what a colleague has", redAnn, ownedBy("red", "bob"), false],
    ["a user does not own what his team has", redAnn, ownedBy("red"), false],
    ["a user does not own what his namesake in another team has", redAnn, ownedBy("blue", "ann"), false],
    ["a tenant owns nothing that has no owner", redTeam, ownedBy(), false],
    ["a tenant without a team owns nothing", nobody, ownedBy("", ""), false],
    ["W23: team and user are not one name: a-b and c are not a and b-c", { ...redAnn, team: "a-b", user: "c" }, ownedBy("a", "b-c"), false],
  ])("%s", (_, caller, object, expected) => {
    expect(owns(caller, object)).toBe(expected);
  });
});

describe("who may use what", () => {
  test.each([
    ["what has no owner is everybody's to use", redAnn, ownedBy(), true],
    ["what a team was given, each of its users may use", redAnn, ownedBy("red"), true],
    ["what a colleague was given is his alone", redAnn, ownedBy("red", "bob"), false],
    ["what another team was given is not to be used", redAnn, ownedBy("blue"), false],
    ["what names a user without a team is nobody's but an admin's", redAnn, ownedBy(undefined, "ann"), false],
    ["a tenant without a team may use what has no owner", nobody, ownedBy(), true],
    ["a tenant without a team may not use what an empty team owns with a user", nobody, ownedBy("", "ann"), false],
  ])("%s", (_, caller, object, expected) => {
    expect(mayUse(caller, object)).toBe(expected);
  });

  test("I8: a tenant never gets at what carries another team", () => {
    const name = fc.constantFrom("", "red", "blue", "ann");
    fc.assert(
      fc.property(name, fc.option(name, { nil: undefined }), name, name, (team, user, otherTeam, otherUser) => {
        fc.pre(otherTeam !== team && otherTeam !== "");
        const caller: Caller = { role: "tenant", team, keyId: "k", ...(user === undefined ? {} : { user }) };
        expect(owns(caller, ownedBy(otherTeam, otherUser))).toBe(false);
        expect(mayUse(caller, ownedBy(otherTeam, otherUser))).toBe(false);
      }),
    );
  });
});

test("the history is asked with the rights of the caller", () => {
  expect(scopeOf(admin)).toEqual({ kind: "admin" });
  expect(scopeOf(redTeam)).toEqual({ kind: "tenant", team: "red" });
  expect(scopeOf(redAnn)).toEqual({ kind: "tenant", team: "red", user: "ann" });
});
