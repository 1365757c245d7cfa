import { describe, expect, test } from "vitest";
import { ConfigMaps, Events, Namespaces } from "#model/core-kinds.ts";
import type { JsonObject, ObjectMeta } from "#model/meta.ts";
import { Pods } from "#model/pod.ts";
import { Pools, Templates } from "../../../../test/world/bare-kinds.ts";
import { aMap, aPod, aPool, backgroundDone, openTestStore, ownedBy, type TestStore } from "../../../../test/world/bare-store.ts";

const merge = (body: JsonObject) => ({ type: "merge", body }) as const;
const at = (name: string) => ({ namespace: "default", name });
const hold = "example.com/hold";

/** Names of the config maps and pools that are there; terminating ones with a cross. */
async function present(store: TestStore): Promise<string[]> {
  await backgroundDone();
  const objects = [...(await store.list(Pools)).items, ...(await store.list(ConfigMaps)).items];
  return objects.map(({ metadata }) => `${metadata.name}${metadata.deletionTimestamp === undefined ? "" : "†"}`);
}

const references = (...owners: ObjectMeta[]): ObjectMeta => ({ ownerReferences: owners.flatMap((owner) => owner.ownerReferences ?? []) });

describe("the garbage collector", () => {
  test("deletes what the deleted object owned, and what that owned", async () => {
    using store = openTestStore();
    const pool = await store.create(Pools, aPool("owner"));
    const child = await store.create(ConfigMaps, aMap("child", { metadata: ownedBy(pool) }));
    await store.create(ConfigMaps, aMap("grandchild", { metadata: ownedBy(child) }));
    await store.create(ConfigMaps, aMap("other"));
    expect(await present(store)).toEqual(["owner", "child", "grandchild", "other"]);
    await store.delete(Pools, at("owner"));
    expect(await present(store)).toEqual(["other"]);
  });

  test("keeps an object as long as one of its owners is there, and forgets the others", async () => {
    using store = openTestStore();
    const [one, two] = [await store.create(Pools, aPool("one")), await store.create(Pools, aPool("two"))];
    await store.create(ConfigMaps, aMap("child", { metadata: references(ownedBy(one), ownedBy(two)) }));
    await store.delete(Pools, at("one"));
    expect(await present(store)).toEqual(["two", "child"]);
    expect((await store.get(ConfigMaps, at("child"))).metadata.ownerReferences).toMatchObject([{ name: "two" }]);
    await store.delete(Pools, at("two"));
    expect(await present(store)).toEqual([]);
  });

  test("deletes what points to an owner that never was, or to another object of its name", async () => {
    using store = openTestStore();
    const pool = await store.create(Pools, aPool("owner"));
    const never = { ...pool, metadata: { ...pool.metadata, name: "never" } };
    const replaced = { ...pool, metadata: { ...pool.metadata, uid: "of-another" } };
    await store.create(ConfigMaps, aMap("a", { metadata: ownedBy(never) }));
    await store.create(ConfigMaps, aMap("b", { metadata: ownedBy(replaced) }));
    await store.create(ConfigMaps, aMap("c"));
    await store.patch(ConfigMaps, at("c"), merge({ metadata: { ownerReferences: [{ ...ownedBy(never).ownerReferences?.[0] }] } }));
    expect(await present(store)).toEqual(["owner"]);
  });

  test("does not find an owner in another namespace, but one that is in none", async () => {
    using store = openTestStore();
    const elsewhere = await store.create(Pools, aPool("owner", { metadata: { namespace: "kube-system" } }));
    await store.create(ConfigMaps, aMap("a", { metadata: ownedBy(elsewhere) }));
    const template = await store.create(Templates, { metadata: { name: "t" } });
    await store.create(ConfigMaps, aMap("b", { metadata: ownedBy(template) }));
    expect(await present(store)).toEqual(["owner", "b"]);
    await store.delete(Templates, { name: "t" });
    expect(await present(store)).toEqual(["owner"]);
  });

  test("concludes nothing from owners of kinds that it does not know, and leaves events alone", async () => {
    using store = openTestStore();
    const unknown = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "d", uid: "u" } };
    await store.create(ConfigMaps, aMap("a", { metadata: ownedBy(unknown) }));
    await store.create(Events, { metadata: { ...at("e"), ...ownedBy({ ...unknown, apiVersion: "v1", kind: "Pod" }) }, involvedObject: {} });
    const pool = await store.create(Pools, aPool("p"));
    await store.create(Templates, { metadata: { name: "t", ...ownedBy(pool) } });
    await store.delete(Pools, at("p"));
    expect(await present(store)).toEqual(["a"]);
    expect((await store.list(Events)).items).toHaveLength(1);
    expect((await store.list(Templates)).items).toHaveLength(1);
  });

  test("gives a pod that it deletes its grace period", async () => {
    using store = openTestStore();
    const pool = await store.create(Pools, aPool("p"));
    const spec = { nodeName: "n", terminationGracePeriodSeconds: 30 };
    await store.create(Pods, aPod("pod", { metadata: ownedBy(pool), spec }));
    await store.delete(Pools, at("p"));
    await backgroundDone();
    expect((await store.get(Pods, at("pod"))).metadata.deletionGracePeriodSeconds).toBe(30);
  });
});

describe("a delete in the foreground", () => {
  test("lets the owner go after the dependents that block it", async () => {
    using store = openTestStore();
    const pool = await store.create(Pools, aPool("owner"));
    await store.create(ConfigMaps, aMap("blocks", { metadata: { ...ownedBy(pool, { blockOwnerDeletion: true }), finalizers: [hold] } }));
    await store.create(ConfigMaps, aMap("does-not", { metadata: { ...ownedBy(pool), finalizers: [hold] } }));
    await store.create(ConfigMaps, aMap("free", { metadata: ownedBy(pool, { blockOwnerDeletion: true }) }));
    await store.delete(Pools, at("owner"), { propagationPolicy: "Foreground" });
    expect(await present(store)).toEqual(["owner†", "blocks†", "does-not†"]);
    expect((await store.get(Pools, at("owner"))).metadata.finalizers).toEqual(["foregroundDeletion"]);
    await store.patch(ConfigMaps, at("blocks"), merge({ metadata: { finalizers: null } }));
    expect(await present(store)).toEqual(["does-not†"]);
  });

  test("waits no longer for a dependent that stops to block", async () => {
    using store = openTestStore();
    const pool = await store.create(Pools, aPool("owner"));
    await store.create(ConfigMaps, aMap("blocks", { metadata: { ...ownedBy(pool, { blockOwnerDeletion: true }), finalizers: [hold] } }));
    await store.delete(Pools, at("owner"), { propagationPolicy: "Foreground" });
    await backgroundDone();
    await store.patch(ConfigMaps, at("blocks"), merge({ metadata: { ownerReferences: null } }));
    expect(await present(store)).toEqual(["blocks†"]);
  });

  test("goes down through generations", async () => {
    using store = openTestStore();
    const pool = await store.create(Pools, aPool("owner"));
    const child = await store.create(ConfigMaps, aMap("child", { metadata: ownedBy(pool, { blockOwnerDeletion: true }) }));
    const block = ownedBy(child, { blockOwnerDeletion: true });
    await store.create(ConfigMaps, aMap("grandchild", { metadata: { ...block, finalizers: [hold] } }));
    await store.delete(Pools, at("owner"), { propagationPolicy: "Foreground" });
    expect(await present(store)).toEqual(["owner†", "child†", "grandchild†"]);
    await store.patch(ConfigMaps, at("grandchild"), merge({ metadata: { finalizers: null } }));
    expect(await present(store)).toEqual([]);
  });

  test("of objects that own each other comes to an end", async () => {
    using store = openTestStore();
    const one = await store.create(Pools, aPool("one", { metadata: { finalizers: [hold] } }));
    const two = await store.create(Pools, aPool("two", { metadata: ownedBy(one, { blockOwnerDeletion: true }) }));
    const back = ownedBy(two, { blockOwnerDeletion: true }).ownerReferences?.map((reference) => ({ ...reference })) ?? [];
    await store.patch(Pools, at("one"), merge({ metadata: { ownerReferences: back, finalizers: null } }));
    await store.delete(Pools, at("one"), { propagationPolicy: "Foreground" });
    expect(await present(store)).toEqual([]);
  });
});

describe("a delete that orphans", () => {
  test("leaves the dependents behind without the owner", async () => {
    using store = openTestStore();
    const [pool, other] = [await store.create(Pools, aPool("owner")), await store.create(Pools, aPool("other"))];
    await store.create(ConfigMaps, aMap("child", { metadata: ownedBy(pool) }));
    await store.create(ConfigMaps, aMap("shared", { metadata: references(ownedBy(pool), ownedBy(other)) }));
    await store.delete(Pools, at("owner"), { propagationPolicy: "Orphan" });
    expect((await store.get(Pools, at("owner"))).metadata).toMatchObject({ finalizers: ["orphan"], deletionGracePeriodSeconds: 0 });
    expect(await present(store)).toEqual(["other", "child", "shared"]);
    expect((await store.get(ConfigMaps, at("child"))).metadata).not.toHaveProperty("ownerReferences");
    expect((await store.get(ConfigMaps, at("shared"))).metadata.ownerReferences).toMatchObject([{ name: "other" }]);
  });

  test("can still be turned into one in the foreground while finalizers hold the object", async () => {
    using store = openTestStore();
    const pool = await store.create(Pools, aPool("owner", { metadata: { finalizers: [hold] } }));
    await store.delete(Pools, at("owner"), { propagationPolicy: "Orphan" });
    await store.delete(Pools, at("owner"), { propagationPolicy: "Foreground" });
    expect((await store.get(Pools, at("owner"))).metadata.finalizers).toEqual([hold, "foregroundDeletion"]);
    await backgroundDone();
    expect((await store.get(Pools, at("owner"))).metadata).toMatchObject({ uid: pool.metadata.uid, finalizers: [hold] });
  });

  test("keeps to the finalizer that the object was made with", async () => {
    using store = openTestStore();
    const pool = await store.create(Pools, aPool("owner", { metadata: { finalizers: ["orphan"] } }));
    await store.create(ConfigMaps, aMap("child", { metadata: ownedBy(pool) }));
    await store.delete(Pools, at("owner"));
    expect(await present(store)).toEqual(["child"]);
  });

  test("works for a namespace too, which takes its contents along all the same", async () => {
    using store = openTestStore();
    const namespace = await store.create(Namespaces, { metadata: { name: "ns" } });
    await store.create(ConfigMaps, aMap("child", { metadata: ownedBy(namespace) }));
    await store.create(ConfigMaps, aMap("inside", { metadata: { namespace: "ns" } }));
    await store.delete(Namespaces, { name: "ns" }, { propagationPolicy: "Orphan" });
    expect(await present(store)).toEqual(["child"]);
    expect((await store.list(Namespaces)).items.map(({ metadata }) => metadata.name)).not.toContain("ns");
  });
});
