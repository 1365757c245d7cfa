import { expect, test } from "vitest";
import { type OidcSettings, readOidcSettings } from "./oidc-settings.ts";
import { callerFrom, claimIn, markOfRules } from "./person.ts";

const base = { issuer: "https://login.example.com", clientId: "agentbox", url: "https://box.example.com" };

function settings(change: Readonly<Record<string, unknown>> = {}): OidcSettings {
  const groups = [
    { group: "platform", role: "admin" },
    { group: "research", team: "red" },
    { group: "students", team: "lab", ownUser: true },
  ];
  return readOidcSettings(JSON.stringify({ ...base, groups, ...change }));
}

const ann = { preferred_username: "ann", groups: ["staff", "research"] };

test("the first rule with a group of the person decides, in the order of the file", () => {
  expect(callerFrom(settings(), ann)).toEqual({ role: "tenant", team: "red", keyId: "oidc:ann" });
  expect(callerFrom(settings(), { ...ann, groups: ["research", "platform"] })).toEqual({ role: "admin", team: "", keyId: "oidc:ann" });
});

test("with ownUser a person has only what is its own", () => {
  expect(callerFrom(settings(), { ...ann, groups: "students" })).toEqual({ role: "tenant", team: "lab", user: "ann", keyId: "oidc:ann" });
});

test("a person in none of the groups, or of whose groups nothing is said, is refused", () => {
  expect(() => callerFrom(settings(), { ...ann, groups: ["staff"] })).toThrow("none of your 1 groups at login.example.com has access");
  expect(() => callerFrom(settings(), { preferred_username: "ann" })).toThrow("none of your 0 groups");
});

test("the group * takes all others", () => {
  const open = settings({ groups: [{ group: "*", team: "guests" }] });
  expect(callerFrom(open, { preferred_username: "ann" })).toEqual({ role: "tenant", team: "guests", keyId: "oidc:ann" });
});

test.each([[undefined], [""], [7], ["two words"], ["new\nline"], ["x".repeat(129)]])("a name of %j is refused", (name) => {
  expect(() => callerFrom(settings(), { ...ann, preferred_username: name })).toThrow("your preferred_username");
});

test("a name that cannot be a label is refused as a user, and not changed into another one's", () => {
  const claims = { email: "ann@example.com", groups: ["students"] };
  expect(() => callerFrom(settings({ nameClaim: "email" }), claims)).toThrow('your name "ann@example.com" cannot be that of a user here');
});

test("an address that the provider has not verified is no name", () => {
  const claims = { email: "admin@example.com", email_verified: false, groups: ["platform"] };
  expect(() => callerFrom(settings({ nameClaim: "email" }), claims)).toThrow("has not verified your address admin@example.com");
});

test("claims are found by their whole name, or inside objects, and nothing is found that objects have from JavaScript", () => {
  expect(claimIn({ "https://a.b/groups": [1], a: { b: 2 } }, "https://a.b/groups")).toEqual([1]);
  expect(claimIn({ realm_access: { roles: ["x"] } }, "realm_access.roles")).toEqual(["x"]);
  expect([claimIn({}, "constructor.name"), claimIn({ a: "text" }, "a.length"), claimIn({ a: null }, "a.b")]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test("the mark of rules changes with the rules, and not with what the provider is called", () => {
  expect(markOfRules(settings({ name: "Login" }))).toBe(markOfRules(settings()));
  expect(markOfRules(settings({ groups: [{ group: "research", team: "red" }] }))).not.toBe(markOfRules(settings()));
});
