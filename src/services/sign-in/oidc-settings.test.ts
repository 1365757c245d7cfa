import { expect, test } from "vitest";
import { readOidcSettings } from "./oidc-settings.ts";

const least = {
  issuer: "https://login.example.com/realms/main",
  clientId: "agentbox",
  url: "https://box.example.com",
  groups: [{ group: "research", team: "red" }],
};

test("a file with the least that is needed has the usual claims, scopes and session", () => {
  expect(readOidcSettings(JSON.stringify(least))).toEqual({
    issuer: "https://login.example.com/realms/main",
    clientId: "agentbox",
    url: "https://box.example.com",
    name: "login.example.com",
    scopes: ["openid", "profile"],
    nameClaim: "preferred_username",
    groupsClaim: "groups",
    sessionMs: 8 * 3_600_000,
    groups: [{ group: "research", role: "tenant", team: "red", ownUser: false }],
  });
});

test.each([
  [{ issuer: undefined }, "issuer is needed"],
  [{ issuer: "login.example.com" }, 'issuer must be an https address, not "login.example.com"'],
  [{ issuer: "http://login.example.com" }, "issuer must begin with https://"],
  [{ issuer: "https://user:word@login.example.com" }, "issuer must be without a user, a password and a fragment"],
  [{ url: "https://box.example.com/console" }, "url must end after the host, such as https://box.example.com"],
  [{ clientID: "agentbox" }, 'the file has no field "clientID": the fields are issuer, clientId,'],
  [{ scopes: ["profile"] }, "scopes must contain openid"],
  [{ scopes: ["openid profile"] }, 'scopes must have one scope in each entry, not "openid profile"'],
  [{ session: "30d" }, 'session must be a duration from 1m to 168h, not "30d"'],
  [{ session: "200h" }, "session must be a duration from 1m to 168h"],
  [{ groups: [] }, "groups must say what which group may"],
  [{ groups: [{ group: "research" }] }, "groups[0] needs either a team or role: admin"],
  [{ groups: [{ group: "research", team: "red", role: "admin" }] }, "groups[0] needs either a team or role: admin"],
  [{ groups: [{ group: "research", role: "tenant" }] }, 'groups[0].role must be admin or left out, not "tenant"'],
  [{ groups: [{ group: "*", role: "admin" }] }, "groups[0].group must name a group"],
  [{ groups: [{ group: "a", role: "admin", ownUser: true }] }, "groups[0].ownUser belongs to groups with a team"],
  [{ groups: [{ group: "a", team: "not a team" }] }, "groups[0].team must be 1 to 63 letters"],
  [{ groups: [{ group: "a", team: "red", ownUser: "yes" }] }, 'groups[0].ownUser must be true or false, not "yes"'],
])("%j is refused in words: %s", (change, words) => {
  expect(() => readOidcSettings(JSON.stringify({ ...least, ...change }))).toThrow(words);
});

test("without TLS only addresses of this machine are taken", () => {
  const local = { ...least, issuer: "http://127.0.0.1:4000", url: "http://localhost:8099" };
  expect(readOidcSettings(JSON.stringify(local))).toMatchObject({ issuer: "http://127.0.0.1:4000/", url: "http://localhost:8099" });
});
