import { expect, test } from "vitest";
import { ConfigMaps } from "#model/core-kinds.ts";
import type { ApiObject, OwnerReference } from "#model/meta.ts";
import { Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { aConfigMap, aPod, gone, refusal, until } from "./helpers.ts";
import { aPool } from "./own-kinds.ts";
import { describeServers } from "./servers.ts";

function ownedBy(owner: ApiObject, more: Partial<OwnerReference> = {}): { ownerReferences: OwnerReference[] } {
  return {
    ownerReferences: [
      {
        apiVersion: owner.apiVersion ?? "",
        kind: owner.kind ?? "",
        name: owner.metadata.name ?? "",
        uid: owner.metadata.uid ?? "",
        ...more,
      },
    ],
  };
}

describeServers("garbage collection", (server) => {
  test("what a deleted object owned is deleted in the background", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const pool = await client.create(SandboxPools, aPool(namespace, "owner"));
    await client.create(Pods, aPod(namespace, "owned", { metadata: ownedBy(pool, { controller: true }) }));
    await client.delete(SandboxPools, { namespace, name: "owner" });
    await gone(client, Pods, { namespace, name: "owned" });
  });

  test("ownership is followed through several generations", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const pool = await client.create(SandboxPools, aPool(namespace, "grand"));
    const middle = await client.create(ConfigMaps, aConfigMap(namespace, "middle", { metadata: ownedBy(pool) }));
    await client.create(ConfigMaps, aConfigMap(namespace, "leaf", { metadata: ownedBy(middle) }));
    await client.delete(SandboxPools, { namespace, name: "grand" });
    await gone(client, ConfigMaps, { namespace, name: "leaf" });
  });

  test("an object with two owners stays while one is left, without the reference to the other", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const first = await client.create(SandboxPools, aPool(namespace, "first"));
    const second = await client.create(SandboxPools, aPool(namespace, "second"));
    const ownerReferences = [...ownedBy(first).ownerReferences, ...ownedBy(second).ownerReferences];
    await client.create(ConfigMaps, aConfigMap(namespace, "shared", { metadata: { ownerReferences } }));
    await client.delete(SandboxPools, { namespace, name: "first" });
    const left = await until(client, ConfigMaps, { namespace, name: "shared" }, (object) => object?.metadata.ownerReferences?.length === 1);
    expect(left?.metadata.ownerReferences?.[0]?.name).toBe("second");
    await client.delete(SandboxPools, { namespace, name: "second" });
    await gone(client, ConfigMaps, { namespace, name: "shared" });
  });

  test("an owner of the same name but another uid does not keep an object", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const pool = await client.create(SandboxPools, aPool(namespace, "name"));
    const metadata = ownedBy(pool, { uid: "11111111-1111-4111-8111-111111111111" });
    await client.create(ConfigMaps, aConfigMap(namespace, "orphan", { metadata }));
    await gone(client, ConfigMaps, { namespace, name: "orphan" });
  });

  test("an object whose owner never existed is collected", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const pool = await client.create(SandboxPools, aPool(namespace, "real"));
    const metadata = ownedBy(pool, { name: "imagined", uid: "22222222-2222-4222-8222-222222222222" });
    await client.create(ConfigMaps, aConfigMap(namespace, "orphan", { metadata }));
    await gone(client, ConfigMaps, { namespace, name: "orphan" });
  });

  test("an object without owners is left alone", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const pool = await client.create(SandboxPools, aPool(namespace, "owner"));
    await client.create(ConfigMaps, aConfigMap(namespace, "free"));
    await client.create(ConfigMaps, aConfigMap(namespace, "owned", { metadata: ownedBy(pool) }));
    await client.delete(SandboxPools, { namespace, name: "owner" });
    await gone(client, ConfigMaps, { namespace, name: "owned" });
    await client.get(ConfigMaps, { namespace, name: "free" });
  });

  test("a deletion that orphans leaves the dependents, without their reference", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const pool = await client.create(SandboxPools, aPool(namespace, "owner"));
    await client.create(ConfigMaps, aConfigMap(namespace, "kept", { metadata: ownedBy(pool) }));
    await client.delete(SandboxPools, { namespace, name: "owner" }, { propagationPolicy: "Orphan" });
    await gone(client, SandboxPools, { namespace, name: "owner" });
    const kept = await client.get(ConfigMaps, { namespace, name: "kept" });
    expect(kept.metadata.ownerReferences).toBeUndefined();
  });

  test("a foreground deletion waits for the dependents that block it", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const pool = await client.create(SandboxPools, aPool(namespace, "owner"));
    const metadata = { ...ownedBy(pool, { blockOwnerDeletion: true }), finalizers: ["example.com/hold"] };
    await client.create(ConfigMaps, aConfigMap(namespace, "blocking", { metadata }));
    await client.delete(SandboxPools, { namespace, name: "owner" }, { propagationPolicy: "Foreground" });
    const marked = await client.get(SandboxPools, { namespace, name: "owner" });
    expect(marked.metadata.finalizers).toEqual(["foregroundDeletion"]);
    await until(client, ConfigMaps, { namespace, name: "blocking" }, (object) => object?.metadata.deletionTimestamp !== undefined);
    await client.get(SandboxPools, { namespace, name: "owner" });
    await client.patch(ConfigMaps, { namespace, name: "blocking" }, { type: "merge", body: { metadata: { finalizers: null } } });
    await gone(client, SandboxPools, { namespace, name: "owner" });
  });

  test("a dependent that does not block lets a foreground deletion finish", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const pool = await client.create(SandboxPools, aPool(namespace, "owner"));
    await client.create(ConfigMaps, aConfigMap(namespace, "dependent", { metadata: ownedBy(pool) }));
    await client.delete(SandboxPools, { namespace, name: "owner" }, { propagationPolicy: "Foreground" });
    await gone(client, SandboxPools, { namespace, name: "owner" });
    await gone(client, ConfigMaps, { namespace, name: "dependent" });
  });

  test("an owner held by a finalizer keeps what it owns", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const pool = aPool(namespace, "held");
    const made = await client.create(SandboxPools, { ...pool, metadata: { ...pool.metadata, finalizers: ["example.com/hold"] } });
    await client.create(ConfigMaps, aConfigMap(namespace, "owned", { metadata: ownedBy(made) }));
    await client.delete(SandboxPools, { namespace, name: "held" });
    // Collected things go within moments: a sibling that may go shows that the collector has passed.
    await client.create(
      ConfigMaps,
      aConfigMap(namespace, "sibling", { metadata: ownedBy(made, { uid: "33333333-3333-4333-8333-333333333333" }) }),
    );
    await gone(client, ConfigMaps, { namespace, name: "sibling" });
    await client.get(ConfigMaps, { namespace, name: "owned" });
    await client.patch(SandboxPools, { namespace, name: "held" }, { type: "merge", body: { metadata: { finalizers: null } } });
    await gone(client, ConfigMaps, { namespace, name: "owned" });
  });

  test("an owner reference without uid is refused", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const pool = await client.create(SandboxPools, aPool(namespace, "owner"));
    const no = await refusal(client.create(ConfigMaps, aConfigMap(namespace, "bad", { metadata: ownedBy(pool, { uid: "" }) })));
    expect(no).toMatchObject({ reason: "Invalid", fields: ["metadata.ownerReferences.uid"] });
  });

  test("two controllers of one object are refused", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const first = await client.create(SandboxPools, aPool(namespace, "first"));
    const second = await client.create(SandboxPools, aPool(namespace, "second"));
    const ownerReferences = [
      ...ownedBy(first, { controller: true }).ownerReferences,
      ...ownedBy(second, { controller: true }).ownerReferences,
    ];
    const no = await refusal(client.create(ConfigMaps, aConfigMap(namespace, "bad", { metadata: { ownerReferences } })));
    expect(no).toMatchObject({ reason: "Invalid", fields: ["metadata.ownerReferences"] });
  });
});
