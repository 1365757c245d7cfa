import { describe, expect, test } from "vitest";
import { pullSecret } from "../../../test/world/fake-registry.ts";
import { Keyring } from "./pull-secret.ts";

/** Who is tried for an image, in order. */
function usersFor(registry: string, repository: string, ...keys: string[]): string[] {
  const secret = pullSecret(Object.fromEntries(keys.map((key) => [key, ["user", key] as const])));
  return new Keyring([secret]).lookup(registry, repository).map(({ password }) => password);
}

describe("which credentials belong to an image", () => {
  test.each([
    ["registry.example", "team/app", ["registry.example"], ["registry.example"]],
    ["registry.example", "team/app", ["other.example"], []],
    // Without scheme, version path and slashes at the end.
    ["registry.example", "app", ["https//registry.example"], []],
    // A path narrows, by plain prefix.
    ["registry.example", "team/app", ["registry.example/team"], ["registry.example/team"]],
    ["registry.example", "other/app", ["registry.example/team"], []],
    // The more particular first.
    ["registry.example", "team/app", ["registry.example", "registry.example/team"], ["registry.example/team", "registry.example"]],
    // Patterns count for one part of the name each.
    ["a.registry.example", "app", ["*.registry.example"], ["*.registry.example"]],
    ["a.b.registry.example", "app", ["*.registry.example"], []],
    ["registry.example", "app", ["*.registry.example"], []],
    ["reg1.example", "app", ["reg?.example", "r*1.example"], ["reg?.example", "r*1.example"]],
    // Ports must be the same.
    ["registry.example:5000", "app", ["registry.example"], []],
    ["registry.example:5000", "app", ["registry.example:5000"], ["registry.example:5000"]],
    ["registry.example", "app", ["registry.example:5000"], []],
    ["[::1]:5000", "app", ["[::1]:5000"], ["[::1]:5000"]],
    // The default registry under the names that it has had.
    ["docker.io", "library/alpine", ["docker.io"], ["docker.io"]],
    ["docker.io", "library/alpine", ["index.docker.io"], ["index.docker.io"]],
    ["registry.example", "app", ["index.docker.io"], []],
  ])("%s/%s with keys %j: %j", (registry, repository, keys, users) => {
    expect(usersFor(registry, repository, ...keys)).toEqual(users);
  });

  test.each([
    "https://registry.example",
    "http://registry.example/",
    "https://registry.example/v1/",
    "registry.example/v2/",
    "registry.example/v2",
  ])("the key %s means the host", (key) => {
    expect(usersFor("registry.example", "team/app", key)).toEqual([key]);
  });

  test("the old key of the default registry means it", () => {
    expect(usersFor("docker.io", "library/alpine", "https://index.docker.io/v1/")).toEqual(["https://index.docker.io/v1/"]);
  });
});

describe("the content of a secret", () => {
  const lookup = (secret: unknown): unknown => new Keyring([JSON.stringify(secret)]).lookup("r.example", "app");

  test("credentials stand together or apart", () => {
    expect(lookup({ auths: { "r.example": { username: "u", password: "p" } } })).toEqual([{ username: "u", password: "p" }]);
    const auth = Buffer.from("u:p:with:colons\n").toString("base64");
    expect(lookup({ auths: { "r.example": { auth, username: "other" } } })).toEqual([{ username: "u", password: "p:with:colons" }]);
  });

  test("an entry without credentials is none", () => {
    expect(lookup({ auths: { "r.example": {} } })).toEqual([]);
  });

  test("several secrets are one keyring, without repetitions", () => {
    const secrets = [
      pullSecret({ "r.example": ["u", "p"] }),
      pullSecret({ "r.example": ["u", "p"] }),
      pullSecret({ "r.example": ["v", "q"] }),
    ];
    expect(new Keyring(secrets).lookup("r.example", "app").map(({ username }) => username)).toEqual(["u", "v"]);
  });

  test.each([
    ["not JSON", "{"],
    ["no auths", "{}"],
    ["auth that is not user:password", JSON.stringify({ auths: { "r.example": { auth: "bm90aGluZw==" } } })],
  ])("%s is refused without showing it", (_what, secret) => {
    expect(() => new Keyring([secret])).toThrow(expect.objectContaining({ code: "invalid_config" }));
    expect(() => new Keyring([secret])).not.toThrow(/bm90aGluZw/);
  });
});
