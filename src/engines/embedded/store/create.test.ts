import { describe, expect, test } from "vitest";
import { kubernetesTime } from "#lib/clock.ts";
import { ConfigMaps, type Namespace, Namespaces } from "#model/core-kinds.ts";
import { Pods } from "#model/pod.ts";
import { Pools, Templates } from "../../../../test/world/bare-kinds.ts";
import { aMap, aPod, aPool, openTestStore, refusal } from "../../../../test/world/bare-store.ts";

describe("a create", () => {
  test("gives the object its identity, whatever the client says", async () => {
    using store = openTestStore();
    const past = "2001-01-01T00:00:00Z";
    const claims = { uid: "mine", creationTimestamp: past, deletionTimestamp: past, deletionGracePeriodSeconds: 5, generation: 9 };
    const made = await store.create(Pools, aPool("p", { metadata: claims }));
    expect(made.metadata).toEqual({
      namespace: "default",
      name: "p",
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      creationTimestamp: kubernetesTime(store.clock.now()),
      generation: 1,
      resourceVersion: String(store.stats().newestRevision),
    });
    expect(await store.get(Pools, { namespace: "default", name: "p" })).toBe(made);
  });

  test("hands out what is frozen all the way down, and takes the client's object as a copy", async () => {
    using store = openTestStore();
    const given = { metadata: { namespace: "default", name: "m" }, data: { a: "1" } };
    const made = await store.create(ConfigMaps, given);
    given.data.a = "2";
    expect(made.data).toEqual({ a: "1" });
    expect(Object.isFrozen(made) && Object.isFrozen(made.metadata) && Object.isFrozen(made.data)).toBe(true);
    expect(Object.isFrozen(given.data)).toBe(false);
  });

  test("generates names from Kubernetes' alphabet, cut so that they stay labels", async () => {
    using store = openTestStore();
    const made = await store.create(ConfigMaps, { metadata: { namespace: "default", generateName: "web-" } });
    expect(made.metadata.name).toMatch(/^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect(made.metadata.generateName).toBe("web-");
    const long = await store.create(ConfigMaps, { metadata: { namespace: "default", generateName: "x".repeat(80) } });
    expect(long.metadata.name).toHaveLength(63);
  });

  test("refuses a name that is taken", async () => {
    using store = openTestStore();
    await store.create(Pools, aPool("p"));
    expect(await refusal(store.create(Pools, aPool("p")))).toMatchObject({
      reason: "AlreadyExists",
      code: 409,
      message: 'pools.example.com "p" already exists',
    });
    const generated = await refusal(store.create(Pools, aPool("p", { metadata: { generateName: "p-" } })));
    expect(generated.message).toBe(
      'pools.example.com "p" already exists, the server was not able to generate a unique name for the object',
    );
  });

  test("says so when the name is still held by an object that is being deleted", async () => {
    using store = openTestStore();
    await store.create(Pools, aPool("p", { metadata: { finalizers: ["example.com/hold"] } }));
    await store.delete(Pools, { namespace: "default", name: "p" });
    expect((await refusal(store.create(Pools, aPool("p")))).message).toBe('object is being deleted: pools.example.com "p" already exists');
  });

  test("needs a namespace that is there", async () => {
    using store = openTestStore();
    expect(await refusal(store.create(Pools, aPool("p", { metadata: { namespace: "nowhere" } })))).toMatchObject({
      reason: "NotFound",
      message: 'namespaces "nowhere" not found',
    });
    expect(await refusal(store.create(Pools, { metadata: { name: "p" } }))).toMatchObject({ reason: "BadRequest" });
  });

  test("takes no objects into a namespace that is on its way out", async () => {
    using store = openTestStore();
    await store.create(Namespaces, { metadata: { name: "going" } });
    await store.create(ConfigMaps, aMap("held", { metadata: { namespace: "going", finalizers: ["example.com/hold"] } }));
    await store.delete(Namespaces, { name: "going" });
    expect(await refusal(store.create(ConfigMaps, aMap("late", { metadata: { namespace: "going" } })))).toMatchObject({
      reason: "Forbidden",
      message: 'configmaps "late" is forbidden: unable to create new content in namespace going because it is being terminated',
      causes: [{ field: "metadata.namespace", reason: "NamespaceTerminating" }],
    });
  });

  test("has namespaces to begin with", async () => {
    using store = openTestStore();
    const { items } = await store.list(Namespaces);
    expect(items.map((item: Namespace) => [item.metadata.name, item.status?.phase])).toEqual([
      ["default", "Active"],
      ["kube-node-lease", "Active"],
      ["kube-public", "Active"],
      ["kube-system", "Active"],
    ]);
  });

  test("drops the namespace of a kind that has none", async () => {
    using store = openTestStore();
    const made = await store.create(Templates, { metadata: { name: "t", namespace: "default" } });
    expect(made.metadata).not.toHaveProperty("namespace");
  });

  test("may not name a version", async () => {
    using store = openTestStore();
    expect(await refusal(store.create(ConfigMaps, aMap("m", { metadata: { resourceVersion: "5" } })))).toMatchObject({
      code: 500,
      message: "resourceVersion should not be set on objects to be created",
    });
    await store.create(ConfigMaps, aMap("m", { metadata: { resourceVersion: "0" } }));
  });

  test("is refused with everything that is wrong", async () => {
    using store = openTestStore();
    expect(await refusal(store.create(Pools, aPool("Bad")))).toMatchObject({
      reason: "Invalid",
      code: 422,
      message: 'Pool.example.com "Bad" is invalid: metadata.name: Invalid value: "Bad": small letters only',
      causes: [{ field: "metadata.name" }],
    });
  });

  test("as a dry run decides everything and writes nothing", async () => {
    using store = openTestStore();
    const before = store.stats();
    const made = await store.create(Pods, aPod("p"), { dryRun: true });
    expect(made.metadata).toMatchObject({ uid: expect.any(String), generation: 1 });
    expect(made.metadata).not.toHaveProperty("resourceVersion");
    expect(store.stats()).toEqual(before);
    await store.create(Pods, aPod("p"));
    expect((await refusal(store.create(Pods, aPod("p"), { dryRun: true }))).reason).toBe("AlreadyExists");
  });

  test("drops surplus fields, or refuses them if it is strict", async () => {
    using store = openTestStore();
    const surplus = { ...aMap("m"), surplus: 1 };
    expect((await refusal(store.create(ConfigMaps, surplus, { fieldValidation: "Strict" }))).message).toBe(
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "surplus"',
    );
    expect(await store.create(ConfigMaps, surplus)).not.toHaveProperty("surplus");
  });

  test("of a kind that is not served is refused", async () => {
    using store = openTestStore();
    const unknown = { ...Pools, plural: "lakes", kind: "Lake" };
    expect(await refusal(store.create(unknown, aPool("p")))).toMatchObject({
      reason: "NotFound",
      message: "the server could not find the requested resource",
    });
  });
});
