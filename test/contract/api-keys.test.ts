import { afterEach, expect, test, vi } from "vitest";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { systemClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import { ConfigMaps, Secrets } from "#model/core-kinds.ts";
import type { Caller } from "#services/caller.ts";
import { hashOfKey, keyIdOf } from "#services/keys/api-key.ts";
import { ensureFirstAdminKey, type KeyKeeper } from "#services/keys/first-admin-key.ts";
import { type KeyService, openKeyService } from "#services/keys/key-service.ts";
import { type ContractServer, describeServers } from "./servers.ts";
import { claimBook } from "../world/claim-books.ts";

const admin: Caller = { role: "admin", team: "", keyId: "none" };
const log = openLog({ clock: systemClock, out: { write: () => true } });

function keeperInMemory(): KeyKeeper & { key: string | undefined } {
  const keeper = {
    key: undefined as string | undefined,
    read: async () => keeper.key,
    write: async (key: string) => (keeper.key = key),
    forget: async () => void (keeper.key = undefined),
  };
  return keeper;
}

describeServers("API keys", (server) => {
  const caches: SandboxCache[] = [];
  afterEach(() => Promise.all(caches.splice(0).map((cache) => cache.stop())));

  /** A process of the control plane. */
  async function process(running: ContractServer, namespace: string): Promise<KeyService> {
    const cache = new SandboxCache(
      { client: running.client, clock: systemClock, log },
      { namespace, systemNamespace: namespace, claims: claimBook() },
    );
    caches.push(cache);
    await cache.run();
    const { secrets } = cache.system ?? {};
    if (secrets === undefined) throw new Error("no system namespace");
    return openKeyService({ client: running.client, secrets, namespace, clock: systemClock });
  }

  test("are taken by every process, are stored as a hash only, and end everywhere when revoked", async () => {
    const running = server();
    const namespace = await running.namespace();
    const [one, other] = [await process(running, namespace), await process(running, namespace)];
    const { key, id } = await one.create(admin, { team: "red", user: "ann", name: "laptop" });
    // Its own write counts at once, without the watch.
    expect(one.authenticate(key)).toEqual({ role: "tenant", team: "red", user: "ann", keyId: id });
    await vi.waitFor(() => expect(other.authenticate(key)).toEqual({ role: "tenant", team: "red", user: "ann", keyId: id }));
    const stored = JSON.stringify((await running.client.list(Secrets, { namespace })).items);
    expect(stored).not.toContain(key);
    expect(stored).not.toContain(Buffer.from(key).toString("base64"));
    expect(stored).toContain(Buffer.from(hashOfKey(key)).toString("base64"));
    await one.revoke(admin, id);
    expect(one.authenticate(key)).toBeUndefined();
    await vi.waitFor(() => expect(other.authenticate(key)).toBeUndefined());
  });

  test("end with the key that made them, in every process", async () => {
    const running = server();
    const namespace = await running.namespace();
    const [one, other] = [await process(running, namespace), await process(running, namespace)];
    const first = await one.create(admin, { team: "red" });
    const second = await one.create({ role: "tenant", team: "red", keyId: first.id }, {});
    const kept = await one.create({ role: "tenant", team: "red", keyId: second.id }, {});
    await vi.waitFor(() => expect(other.authenticate(kept.key)).toMatchObject({ keyId: kept.id }));
    await other.revoke(admin, second.id, "keep");
    await one.revoke(admin, first.id);
    await vi.waitFor(() => expect([first, second].map(({ key }) => other.authenticate(key))).toEqual([undefined, undefined]));
    expect(other.authenticate(kept.key)).toMatchObject({ keyId: kept.id });
    await vi.waitFor(() => expect(one.authenticate(kept.key)).toMatchObject({ keyId: kept.id }));
  });

  test("start with one admin key, made once however many processes start at a time", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const keepers = Array.from({ length: 4 }, keeperInMemory);
    const made = await Promise.all(keepers.map((keeper) => ensureFirstAdminKey({ client, namespace, clock: systemClock, keeper })));
    const [key, ...others] = made.filter((one) => one !== undefined);
    expect([key, others]).toEqual([expect.stringMatching(/^e2b_[0-9a-f]{40}$/), []]);
    expect(keepers.map((keeper) => keeper.key).filter((one) => one !== undefined)).toEqual([key]);
    const keys = await process(server(), namespace);
    expect(keys.list(admin)).toMatchObject([{ id: keyIdOf(hashOfKey(key ?? "")), role: "admin", name: "first admin key" }]);
    // And not again, also when it was revoked since.
    await keys.create(admin, { role: "admin" });
    await keys.revoke(admin, keyIdOf(hashOfKey(key ?? "")));
    expect(await ensureFirstAdminKey({ client, namespace, clock: systemClock, keeper: keeperInMemory() })).toBeUndefined();
    await vi.waitFor(() => expect(keys.list(admin)).toHaveLength(1));
  });

  test("a first start that was cut short goes on with the key that its user may have seen", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const keeper = keeperInMemory();
    const first = await ensureFirstAdminKey({ client, namespace, clock: systemClock, keeper });
    await client.delete(ConfigMaps, { namespace, name: "agentbox-first-admin-key" });
    expect(await ensureFirstAdminKey({ client, namespace, clock: systemClock, keeper })).toBe(first);
    const keys = await process(server(), namespace);
    expect(keys.list(admin)).toHaveLength(1);
  });
});
