import type crypto from "node:crypto";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { Namespaces, Secrets } from "#model/core-kinds.ts";
import { apiKeySecretType } from "#model/keys.ts";
import { openTestStore, type TestStore } from "../../../test/world/bare-store.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import type { Caller } from "../caller.ts";
import { hashOfKey, isApiKey, keyIdOf, newApiKey } from "./api-key.ts";
import { keySecret } from "./key-secret.ts";
import { type KeyService, openKeyService } from "./key-service.ts";
import { claimBook } from "../../../test/world/claim-books.ts";

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
  cache = new SandboxCache(
    { client: store, clock: store.clock, log: recordedLog().log },
    { systemNamespace: namespace, claims: claimBook() },
  );
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

  test.each([
    "",
    "e2b_",
    `e2b_${"0".repeat(39)}`,
    `e2b_${"0".repeat(41)}`,
    `e2b_${"G".repeat(40)}`,
    "../../x",
    `x e2b_${"0".repeat(40)}`,
    `e2b_${"0".repeat(40)}\n`,
  ])("%j is none", (text) => {
    expect(isApiKey(text)).toBe(false);
    expect(keys.authenticate(text)).toBeUndefined();
  });

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

  test("W24: are never shown again", async () => {
    const { key } = await keys.create(admin, { team: "red", name: "x" });
    const [view] = keys.list(admin);
    expect(Object.keys(view ?? {}).sort()).toEqual(["createdAt", "id", "name", "role", "team"]);
    expect(JSON.stringify(view)).not.toContain(hashOfKey(key));
  });
});

test("a key whose end cannot be read has ended", async () => {
  const key = newApiKey();
  const stored = { hash: hashOfKey(key), role: "tenant", team: "red", name: "", createdAt: "", expiresAt: "soon" } as const;
  cache.system?.secrets.remember(await store.create(Secrets, keySecret(namespace, stored)));
  expect(keys.authenticate(key)).toBeUndefined();
});

test("a revoked key is over at once for this process, and so are its requests, however late the watch is", async () => {
  const { id, key } = await keys.create(admin, { team: "red" });
  const ended = vi.fn<() => void>();
  keys.whenEnded(id, ended);
  await cache.stop();
  await keys.revoke(red, id);
  expect(cache.system?.secrets.get({ namespace, name: `agentbox-key-${id}` }), "the cache still shows it").toBeDefined();
  expect([keys.authenticate(key), ended.mock.calls.length]).toEqual([undefined, 1]);
});

test("the last admin key cannot be revoked", async () => {
  const first = await keys.create(admin, { role: "admin" });
  await expect(keys.revoke(admin, first.id)).rejects.toMatchObject({ code: "conflict" });
  const second = await keys.create(admin, { role: "admin" });
  await keys.revoke(admin, first.id);
  await expect(keys.revoke(admin, second.id)).rejects.toMatchObject({ code: "conflict" });
  expect(keys.authenticate(second.key)).toMatchObject({ role: "admin", team: "" });
});

test("a key of a hub works, is listed as one, and is revoked there", async () => {
  const text = newApiKey();
  const hash = hashOfKey(text);
  const made = { hash, role: "tenant", team: "red", name: "fleet", createdAt: "2026-01-01T00:00:00Z" } as const;
  const secret = keySecret(namespace, made);
  const labels = { ...secret.metadata.labels, "agentbox.io/sync-source": "global" };
  await store.create(Secrets, { ...secret, metadata: { ...secret.metadata, labels } });
  await vi.waitFor(() => expect(keys.authenticate(text)).toMatchObject({ team: "red" }));
  expect(keys.list(red)).toMatchObject([{ name: "fleet", source: "global" }]);
  await expect(keys.revoke(admin, keyIdOf(hash))).rejects.toMatchObject({
    code: "conflict",
    message: expect.stringMatching(/hub.*change it there/),
  });
  expect(keys.isLive(keyIdOf(hash))).toBe(true);
});

describe("a key that was made by another", () => {
  /** As a request with this key is. */
  const holder = (key: string): Caller => {
    const caller = keys.authenticate(key);
    if (caller === undefined) throw new Error("the key is not good");
    return caller;
  };

  test("ends with it, and so do those that it made itself; others stay", async () => {
    const first = await keys.create(admin, { team: "red" });
    const second = await keys.create(holder(first.key), {});
    const third = await keys.create(holder(second.key), { user: "ann" });
    const other = await keys.create(admin, { team: "red" });
    expect(keys.list(red).map(({ id, createdBy }) => [id, createdBy])).toEqual(
      expect.arrayContaining([
        [first.id, undefined],
        [second.id, first.id],
        [third.id, second.id],
        [other.id, undefined],
      ]),
    );
    await keys.revoke(red, first.id);
    expect([first, second, third, other].map(({ key }) => keys.authenticate(key)?.keyId)).toEqual([
      undefined,
      undefined,
      undefined,
      other.id,
    ]);
    expect((await store.list(Secrets, { namespace })).items.map(({ metadata }) => metadata.name)).toEqual([`agentbox-key-${other.id}`]);
  });

  test("is not good without its maker, which another process may have revoked while it was made", async () => {
    const key = newApiKey();
    const maker = { metadata: { name: `agentbox-key-${"0".repeat(16)}`, uid: "gone" } };
    const secret = keySecret(namespace, { hash: hashOfKey(key), role: "tenant", team: "red", name: "", createdAt: "" }, maker);
    const { metadata } = await store.create(Secrets, secret);
    cache.system?.secrets.remember({ ...secret, metadata });
    expect(cache.system?.secrets.get({ namespace, name: metadata.name ?? "" })).toBeDefined();
    expect([keys.authenticate(key), keys.list(red)]).toEqual([undefined, []]);
  });

  test("does not come back with another Secret in the place of its maker's", async () => {
    const first = await keys.create(admin, { team: "red" });
    const made = await keys.create(holder(first.key), {});
    const name = `agentbox-key-${first.id}`;
    const { metadata, ...content } = await store.get(Secrets, { namespace, name });
    await store.delete(Secrets, { namespace, name });
    const { uid: _, resourceVersion: __, creationTimestamp: ___, ...kept } = metadata;
    await store.create(Secrets, { ...content, metadata: kept });
    await expect.poll(() => keys.authenticate(first.key)?.keyId).toBe(first.id);
    expect(keys.authenticate(made.key)).toBeUndefined();
  });

  test("cannot be made by a request whose key was revoked on the way", async () => {
    const first = await keys.create(admin, { team: "red" });
    const caller = holder(first.key);
    await keys.revoke(red, first.id);
    await expect(keys.create(caller, {})).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test("may be kept, and then ends with nothing", async () => {
    const first = await keys.create(admin, { team: "red" });
    const second = await keys.create(holder(first.key), {});
    const third = await keys.create(holder(second.key), {});
    await keys.revoke(red, first.id, "keep");
    expect([first, second, third].map(({ key }) => keys.authenticate(key)?.keyId)).toEqual([undefined, second.id, third.id]);
    await keys.revoke(red, second.id);
    expect(keys.authenticate(third.key)).toBeUndefined();
  });

  test("stays until an admin says what becomes of it, when the key that goes is an admin's", async () => {
    const first = await keys.create(admin, { role: "admin" });
    const next = await keys.create(holder(first.key), { role: "admin" });
    const tenants = await keys.create(holder(first.key), { team: "red" });
    await expect(keys.revoke(admin, first.id)).rejects.toMatchObject({ code: "conflict", details: { available: ["revoke", "keep"] } });
    await expect(keys.revoke(admin, first.id, "revoke")).rejects.toMatchObject({ code: "conflict", message: /no admin key would be left/ });
    await keys.revoke(admin, first.id, "keep");
    expect([first, next, tenants].map(({ key }) => keys.authenticate(key)?.role)).toEqual([undefined, "admin", "tenant"]);
  });

  test("makes no others at the end of a long chain", async () => {
    let last = await keys.create(admin, { team: "red" });
    for (let made = 0; made < 16; made++) last = await keys.create(holder(last.key), {});
    await expect(keys.create(holder(last.key), {})).rejects.toMatchObject({ code: "forbidden" });
  });
});

describe("requests under way", () => {
  test("hear at once that their key was revoked, and not of other keys", async () => {
    const [mine, other] = [await keys.create(admin, { team: "red" }), await keys.create(admin, { team: "red" })];
    const ended: string[] = [];
    keys.whenEnded(mine.id, () => ended.push("mine"));
    keys.whenEnded(other.id, () => ended.push("other"));
    keys.whenEnded(mine.id, () => ended.push("taken back"))();
    await keys.revoke(red, mine.id);
    expect(ended).toEqual(["mine"]);
    keys.whenEnded(mine.id, () => ended.push("too late"));
    expect(ended).toEqual(["mine", "too late"]);
  });

  test("hear that another process has revoked it", async () => {
    const { id } = await keys.create(admin, { team: "red" });
    const ended = new Promise<void>((resolve) => void keys.whenEnded(id, resolve));
    await store.delete(Secrets, { namespace, name: `agentbox-key-${id}` });
    await expect(ended).resolves.toBeUndefined();
  });

  test("end with the time of their key", async () => {
    const { id } = await keys.create(admin, { team: "red", expiresAt: new Date(store.clock.now() + 1000).toISOString() });
    const ended = vi.fn<() => void>();
    keys.whenEnded(id, ended);
    await store.clock.step(999);
    expect(ended).not.toHaveBeenCalled();
    await store.clock.step(1);
    expect(ended).toHaveBeenCalledOnce();
  });
});
