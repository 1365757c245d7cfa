import type crypto from "node:crypto";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { Namespaces, Secrets } from "#model/core-kinds.ts";
import { apiKeySecretType } from "#model/keys.ts";
import { openTestStore, type TestStore } from "../../../test/world/bare-store.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import type { Caller } from "../caller.ts";
import { hashOfKey, isApiKey, keyIdOf, newApiKey } from "./api-key.ts";
import { keySecret } from "./key-secret.ts";
import { type KeyService, openKeyService } from "./key-service.ts";

const compared = vi.hoisted(() => vi.fn<(one: Buffer, other: Buffer) => void>());
vi.mock("node:crypto", async (original) => {
  const real = await original<typeof crypto>();
  return {
    ...real,
    timingSafeEqual: (one: Buffer, other: Buffer) => {
      compared(one, other);
      return real.timingSafeEqual(one, other);
    },
  };
});

const namespace = "system";
const admin: Caller = { role: "admin", team: "", keyId: "none" };
const red: Caller = { role: "tenant", team: "red", keyId: "none" };
const ann: Caller = { role: "tenant", team: "red", user: "ann", keyId: "none" };
const blue: Caller = { role: "tenant", team: "blue", keyId: "none" };

let store: TestStore;
let cache: SandboxCache;
let keys: KeyService;

beforeEach(async () => {
  store = openTestStore({ kinds: embeddedKindRules() });
  await store.create(Namespaces, { metadata: { name: namespace } });
  cache = new SandboxCache({ client: store, clock: store.clock, log: recordedLog().log }, { systemNamespace: namespace });
  await cache.run();
  if (cache.system === undefined) throw new Error("no system namespace");
  keys = openKeyService({ client: store, secrets: cache.system.secrets, namespace, clock: store.clock });
});

afterEach(async () => {
  await cache.stop();
  store.close();
});

describe("an API key", () => {
  test("is e2b_ and 40 hex digits, and never the same twice", () => {
    const made = new Set(Array.from({ length: 100 }, newApiKey));
    expect(made.size).toBe(100);
    expect([...made].every(isApiKey)).toBe(true);
  });

  test.each(["", "e2b_", `e2b_${"0".repeat(39)}`, `e2b_${"0".repeat(41)}`, `e2b_${"G".repeat(40)}`, "../../x", `e2b_${"0".repeat(40)}\n`])(
    "%j is none",
    (text) => {
      expect(keys.authenticate(text)).toBeUndefined();
    },
  );

  test("is compared in constant time", async () => {
    const { key } = await keys.create(admin, { team: "red" });
    compared.mockClear();
    expect(keys.authenticate(key)).toBeDefined();
    expect(compared.mock.calls.map(([one, other]) => [one.length, other.length])).toEqual([[32, 32]]);
  });

  test("opens nothing when only the beginning of its hash is right", async () => {
    const key = newApiKey();
    const hash = hashOfKey(key);
    const forged = keySecret(namespace, { hash: `${keyIdOf(hash)}${"0".repeat(48)}`, role: "admin", name: "", createdAt: "" });
    cache.system?.secrets.remember(await store.create(Secrets, forged));
    expect(keys.authenticate(key)).toBeUndefined();
  });

  test.each([
    ["of another type", { type: "Opaque" }],
    ["without a role", { data: { role: "" } }],
    ["with a role that there is not", { data: { role: Buffer.from("root").toString("base64") } }],
    ["of a tenant without a team", { data: { role: Buffer.from("tenant").toString("base64") } }],
  ])("a Secret %s is none", async (_, more) => {
    const key = newApiKey();
    const secret = keySecret(namespace, { hash: hashOfKey(key), role: "admin", name: "", createdAt: "" });
    const changed = { ...secret, ...more, data: { ...secret.data, ...("data" in more ? more.data : {}) } };
    cache.system?.secrets.remember(await store.create(Secrets, changed));
    expect([secret.type, keys.authenticate(key)]).toEqual([apiKeySecretType, undefined]);
  });

  test("ends at its time", async () => {
    const { key, id } = await keys.create(admin, { team: "red", expiresAt: new Date(store.clock.now() + 1000).toISOString() });
    expect(keys.authenticate(key)).toEqual({ role: "tenant", team: "red", keyId: id });
    await store.clock.step(1000);
    expect(keys.authenticate(key)).toBeUndefined();
  });
});

describe("keys of others", () => {
  test("are seen and revoked by their team, their user and admins, and are not there for anybody else (I8)", async () => {
    const ops = await keys.create(admin, { role: "admin", name: "ops" });
    const ofTeam = await keys.create(admin, { team: "red" });
    const ofAnn = await keys.create(red, { user: "ann" });
    const ids = (caller: Caller): string[] => keys.list(caller).map(({ id }) => id);
    expect(new Set(ids(admin))).toEqual(new Set([ops.id, ofTeam.id, ofAnn.id]));
    expect(new Set(ids(red))).toEqual(new Set([ofTeam.id, ofAnn.id]));
    expect([ids(ann), ids(blue)]).toEqual([[ofAnn.id], []]);
    for (const [caller, id] of [
      [blue, ofAnn.id],
      [ann, ofTeam.id],
      [red, ops.id],
      [red, "0".repeat(16)],
      [red, "../x"],
    ] as const) {
      await expect(keys.revoke(caller, id)).rejects.toMatchObject({
        code: "not_found",
        message: `there is no API key ${JSON.stringify(id)}`,
      });
    }
    await keys.revoke(ann, ofAnn.id);
    expect(keys.authenticate(ofAnn.key)).toBeUndefined();
    expect(ids(red)).toEqual([ofTeam.id]);
  });

  test("are never shown again", async () => {
    const { key } = await keys.create(admin, { team: "red", name: "x" });
    const [view] = keys.list(admin);
    expect(Object.keys(view ?? {}).sort()).toEqual(["createdAt", "id", "name", "role", "team"]);
    expect(JSON.stringify(view)).not.toContain(hashOfKey(key));
  });
});

test("the last admin key cannot be revoked", async () => {
  const first = await keys.create(admin, { role: "admin" });
  await expect(keys.revoke(admin, first.id)).rejects.toMatchObject({ code: "conflict" });
  const second = await keys.create(admin, { role: "admin" });
  await keys.revoke(admin, first.id);
  await expect(keys.revoke(admin, second.id)).rejects.toMatchObject({ code: "conflict" });
  expect(keys.authenticate(second.key)).toMatchObject({ role: "admin", team: "" });
});
