import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Caller } from "../caller.ts";
import { isServiceError, ServiceError } from "../service-error.ts";
import { type CreateKey, grantedKey } from "./key-rights.ts";
import type { ApiKeyView } from "./key-secret.ts";

const now = Date.UTC(2026, 0, 1);
const admin: Caller = { role: "admin", team: "", keyId: "a" };
const team: Caller = { role: "tenant", team: "red", keyId: "t" };
const user: Caller = { role: "tenant", team: "red", user: "ann", keyId: "u" };

function refused(caller: Caller, wish: CreateKey, own?: ApiKeyView): { code: string; field: string | undefined } {
  try {
    grantedKey(caller, wish, own, now);
  } catch (error) {
    if (error instanceof ServiceError) return { code: error.code, field: error.details.field };
    throw error;
  }
  throw new Error("it was granted");
}

describe("a new key", () => {
  test("of an admin is for whom he says", () => {
    expect(grantedKey(admin, { role: "admin", name: " ops " }, undefined, now)).toEqual({
      role: "admin",
      name: "ops",
      createdAt: "2026-01-01T00:00:00.000Z",
    });
    expect(grantedKey(admin, { team: "red", user: "ann" }, undefined, now)).toMatchObject({ role: "tenant", team: "red", user: "ann" });
  });

  test("of a tenant is for himself when nothing is said", () => {
    expect(grantedKey(team, {}, undefined, now)).toMatchObject({ role: "tenant", team: "red" });
    expect(grantedKey(team, { user: "bob" }, undefined, now)).toMatchObject({ team: "red", user: "bob" });
    expect(grantedKey(user, {}, undefined, now)).toMatchObject({ team: "red", user: "ann" });
  });

  test.each<[Caller, CreateKey, string, string]>([
    [team, { role: "admin" }, "forbidden", "role"],
    [team, { team: "blue" }, "forbidden", "team"],
    [user, { user: "bob" }, "forbidden", "user"],
    [admin, {}, "invalid_request", "team"],
    [admin, { role: "admin", team: "red" }, "invalid_request", "team"],
    [admin, { role: "admin", user: "ann" }, "invalid_request", "user"],
    [admin, { team: "" }, "invalid_request", "team"],
    [admin, { team: "a b" }, "invalid_request", "team"],
    [admin, { team: "x".repeat(64) }, "invalid_request", "team"],
    [team, { user: "-" }, "invalid_request", "user"],
    [team, { name: "x".repeat(201) }, "invalid_request", "name"],
    [team, { expiresAt: "tomorrow" }, "invalid_request", "expiresAt"],
    [team, { expiresAt: "2025-12-31T00:00:00Z" }, "invalid_request", "expiresAt"],
  ])("%j cannot have %j", (caller, wish, code, field) => {
    expect(refused(caller, wish)).toEqual({ code, field });
  });

  test("never outlives the one that made it", () => {
    const own = { ...grantedKey(team, { expiresAt: "2026-02-01T00:00:00Z" }, undefined, now), id: "t" };
    expect(grantedKey(team, {}, own, now)).toMatchObject({ expiresAt: "2026-02-01T00:00:00.000Z" });
    expect(grantedKey(team, { expiresAt: "2026-01-15T00:00:00Z" }, own, now)).toMatchObject({ expiresAt: "2026-01-15T00:00:00.000Z" });
    expect(refused(team, { expiresAt: "2026-02-02T00:00:00Z" }, own)).toEqual({ code: "forbidden", field: "expiresAt" });
  });

  test("never has more rights than the tenant who makes it, whatever he wishes", () => {
    const word = fc.constantFrom("red", "blue", "ann", "bob", "");
    const wishes = fc.record({ role: fc.constantFrom("admin" as const, "tenant" as const), team: word, user: word }, { requiredKeys: [] });
    fc.assert(
      fc.property(fc.constantFrom(team, user), wishes, (caller, wish) => {
        try {
          const made = grantedKey(caller, wish, undefined, now);
          return made.role === "tenant" && made.team === caller.team && (caller.user === undefined || made.user === caller.user);
        } catch (error) {
          return isServiceError(error, "forbidden", "invalid_request");
        }
      }),
    );
  });
});
