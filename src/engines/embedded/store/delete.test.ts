import { describe, expect, test } from "vitest";
import { kubernetesTime } from "#lib/clock.ts";
import { ConfigMaps, Namespaces } from "#model/core-kinds.ts";
import type { JsonObject } from "#model/meta.ts";
import { Pods } from "#model/pod.ts";
import { Pools } from "../../../../test/world/bare-kinds.ts";
import { aMap, aPod, aPool, backgroundDone, openTestStore, refusal, type TestStore, Watching } from "../../../../test/world/bare-store.ts";

const merge = (body: JsonObject) => ({ type: "merge", body }) as const;
const at = (name: string) => ({ namespace: "default", name });
const held = { finalizers: ["example.com/hold"] };

describe("a delete", () => {
  test("removes the object", async () => {
    using store = openTestStore();
    await store.create(ConfigMaps, aMap("m"));
    await store.delete(ConfigMaps, at("m"));
    expect((await refusal(store.get(ConfigMaps, at("m")))).message).toBe('configmaps "m" not found');
    expect((await refusal(store.delete(ConfigMaps, at("m")))).reason).toBe("NotFound");
  });

  test("goes by its preconditions", async () => {
    using store = openTestStore();
    const { metadata } = await store.create(Pools, aPool("p"));
    const withUid = await refusal(store.delete(Pools, at("p"), { preconditions: { uid: "other" } }));
    expect(withUid).toMatchObject({
      reason: "Conflict",
      message: `Operation cannot be fulfilled on Pool.example.com "p": the UID in the precondition (other) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    });
    const withVersion = await refusal(store.delete(Pools, at("p"), { preconditions: { resourceVersion: "1" } }));
    expect(withVersion.message).toContain("the ResourceVersion in the precondition (1) does not match the ResourceVersion in record");
    await store.delete(Pools, at("p"), { preconditions: { uid: metadata.uid, resourceVersion: metadata.resourceVersion } });
  });

  test("of an object with finalizers marks it; it goes with the last of them", async () => {
    using store = openTestStore();
    await store.create(Pools, aPool("p", { metadata: { finalizers: ["example.com/a", "example.com/b"] } }));
    await store.delete(Pools, at("p"), { gracePeriodSeconds: 30 });
    const marked = await store.get(Pools, at("p"));
    expect(marked.metadata).toMatchObject({
      deletionTimestamp: kubernetesTime(store.clock.now()),
      deletionGracePeriodSeconds: 0,
      generation: 2,
    });
    await store.clock.step(5000);
    await store.delete(Pools, at("p"));
    expect(await store.get(Pools, at("p"))).toBe(marked);

    await store.patch(Pools, at("p"), merge({ metadata: { finalizers: ["example.com/b"] } }));
    const answer = await store.patch(Pools, at("p"), merge({ metadata: { finalizers: null }, spec: { replicas: 7 } }));
    expect(answer).toMatchObject({ spec: { replicas: 7 } });
    expect(Object.isFrozen(answer.spec)).toBe(true);
    expect((await refusal(store.get(Pools, at("p")))).reason).toBe("NotFound");
  });

  test("as a dry run removes nothing, but refuses what it would refuse", async () => {
    using store = openTestStore();
    await store.create(ConfigMaps, aMap("m"));
    await store.delete(ConfigMaps, at("m"), { dryRun: true });
    await store.get(ConfigMaps, at("m"));
    expect((await refusal(store.delete(ConfigMaps, at("m"), { dryRun: true, preconditions: { uid: "x" } }))).reason).toBe("Conflict");
  });
});

describe("deleting a pod", () => {
  const deletion = async (store: TestStore) => {
    const { deletionTimestamp, deletionGracePeriodSeconds, generation } = (await store.get(Pods, at("p"))).metadata;
    return { inSeconds: (Date.parse(deletionTimestamp ?? "") - store.clock.now()) / 1000, grace: deletionGracePeriodSeconds, generation };
  };
  const onNode = { nodeName: "n", terminationGracePeriodSeconds: 30 };

  test("gives it its own grace period, or the one that was asked for", async () => {
    using store = openTestStore();
    await store.create(Pods, aPod("p", { spec: onNode }));
    await store.delete(Pods, at("p"), { dryRun: true });
    expect((await store.get(Pods, at("p"))).metadata).not.toHaveProperty("deletionTimestamp");
    await store.delete(Pods, at("p"));
    expect(await deletion(store)).toEqual({ inSeconds: 30, grace: 30, generation: 2 });
  });

  test("again can only shorten it", async () => {
    using store = openTestStore();
    await store.create(Pods, aPod("p", { spec: onNode }));
    await store.delete(Pods, at("p"), { gracePeriodSeconds: 20 });
    await store.delete(Pods, at("p"), { gracePeriodSeconds: 25 });
    await store.delete(Pods, at("p"));
    expect(await deletion(store)).toEqual({ inSeconds: 20, grace: 20, generation: 2 });
    await store.clock.step(2000);
    await store.delete(Pods, at("p"), { gracePeriodSeconds: 5 });
    expect(await deletion(store)).toEqual({ inSeconds: 3, grace: 5, generation: 2 });
    await store.clock.step(8000);
    await store.delete(Pods, at("p"), { gracePeriodSeconds: 2 });
    expect(await deletion(store)).toEqual({ inSeconds: 0, grace: 1, generation: 2 });
  });

  test("without grace shows watchers the mark and then the end", async () => {
    using store = openTestStore();
    const made = await store.create(Pods, aPod("p", { spec: onNode }));
    const version = Number(made.metadata.resourceVersion);
    await store.delete(Pods, at("p"), { gracePeriodSeconds: 0, preconditions: { resourceVersion: String(version) } });
    using watching = new Watching((signal) => store.watch(Pods, { resourceVersion: String(version), signal }));
    expect(await watching.take(2)).toEqual([`MODIFIED p@${version + 1}`, `DELETED p@${version + 2}`]);
  });

  test.for([
    ["is on no node", {}, undefined],
    ["has succeeded", onNode, "Succeeded"],
    ["has failed", onNode, "Failed"],
  ] as const)("that %s removes it at once", async ([, spec, phase]) => {
    using store = openTestStore();
    await store.create(Pods, aPod("p", { spec }));
    if (phase !== undefined) await store.patch(Pods, at("p"), merge({ status: { phase } }), { subresource: "status" });
    await store.delete(Pods, at("p"));
    expect((await refusal(store.get(Pods, at("p")))).reason).toBe("NotFound");
  });

  test("with a negative period gives it one second", async () => {
    using store = openTestStore();
    await store.create(Pods, aPod("p", { spec: onNode }));
    await store.delete(Pods, at("p"), { gracePeriodSeconds: -5 });
    expect(await deletion(store)).toMatchObject({ grace: 1 });
  });

  test("with finalizers waits for both the end of the pod and the finalizers", async () => {
    using store = openTestStore();
    await store.create(Pods, aPod("p", { spec: onNode, metadata: held }));
    await store.delete(Pods, at("p"));
    await store.patch(Pods, at("p"), merge({ metadata: { finalizers: null } }));
    expect(await deletion(store)).toMatchObject({ grace: 30 });
    await store.delete(Pods, at("p"), { gracePeriodSeconds: 0 });
    expect((await refusal(store.get(Pods, at("p")))).reason).toBe("NotFound");

    await store.create(Pods, aPod("p", { spec: onNode, metadata: held }));
    await store.delete(Pods, at("p"), { gracePeriodSeconds: 0 });
    expect(await deletion(store)).toMatchObject({ inSeconds: 0, grace: 0 });
    await store.patch(Pods, at("p"), merge({ metadata: { finalizers: null } }));
    expect((await refusal(store.get(Pods, at("p")))).reason).toBe("NotFound");
  });
});

describe("deleting a namespace", () => {
  const inIt = (name: string, metadata: object = {}) => aMap(name, { metadata: { namespace: "ns", ...metadata } });

  test("takes everything in it along, and nothing of its neighbours", async () => {
    using store = openTestStore();
    for (const name of ["ns", "ns-2"]) await store.create(Namespaces, { metadata: { name } });
    for (let i = 0; i < 120; i++) await store.create(ConfigMaps, inIt(`m${i}`));
    await store.create(Pods, aPod("p", { metadata: { namespace: "ns" } }));
    await store.create(ConfigMaps, aMap("kept", { metadata: { namespace: "ns-2" } }));
    await store.delete(Namespaces, { name: "ns" });
    await backgroundDone();
    expect((await refusal(store.get(Namespaces, { name: "ns" }))).reason).toBe("NotFound");
    expect((await store.list(ConfigMaps)).items.map((item) => item.metadata.name)).toEqual(["kept"]);
    expect((await store.list(Pods)).items).toEqual([]);
  });

  test("waits for what takes its time, and for its own finalizers", async () => {
    using store = openTestStore();
    await store.create(Namespaces, { metadata: { name: "ns", ...held } });
    await store.create(ConfigMaps, inIt("m", held));
    await store.create(Pods, aPod("p", { metadata: { namespace: "ns" }, spec: { nodeName: "n", terminationGracePeriodSeconds: 30 } }));
    await store.delete(Namespaces, { name: "ns" });
    await backgroundDone();
    expect(await store.get(Namespaces, { name: "ns" })).toMatchObject({
      status: { phase: "Terminating" },
      spec: { finalizers: ["kubernetes"] },
    });
    await store.delete(Namespaces, { name: "ns" });
    await store.patch(ConfigMaps, { namespace: "ns", name: "m" }, merge({ metadata: { finalizers: null } }));
    await store.delete(Pods, { namespace: "ns", name: "p" }, { gracePeriodSeconds: 0 });
    await backgroundDone();
    expect(await store.get(Namespaces, { name: "ns" })).toMatchObject({ spec: {} });
    await store.patch(Namespaces, { name: "ns" }, merge({ metadata: { finalizers: null } }));
    expect((await refusal(store.get(Namespaces, { name: "ns" }))).reason).toBe("NotFound");
  });

  test("that the system needs is refused, or the namespace comes again", async () => {
    using store = openTestStore();
    for (const name of ["default", "kube-system", "kube-public"]) {
      expect(await refusal(store.delete(Namespaces, { name }))).toMatchObject({
        reason: "Forbidden",
        message: `namespaces "${name}" is forbidden: this namespace may not be deleted`,
      });
    }
    const before = await store.get(Namespaces, { name: "kube-node-lease" });
    await store.delete(Namespaces, { name: "kube-node-lease" });
    await backgroundDone();
    const after = await store.get(Namespaces, { name: "kube-node-lease" });
    expect(after.metadata.uid).not.toBe(before.metadata.uid);
  });

  test("goes by its preconditions", async () => {
    using store = openTestStore();
    const { metadata } = await store.create(Namespaces, { metadata: { name: "ns" } });
    expect((await refusal(store.delete(Namespaces, { name: "ns" }, { preconditions: { uid: "x" } }))).message).toBe(
      `Operation cannot be fulfilled on namespaces "ns": Precondition failed: UID in precondition: x, UID in object meta: ${metadata.uid}`,
    );
    const preconditions = { resourceVersion: "1" };
    expect((await refusal(store.delete(Namespaces, { name: "ns" }, { preconditions }))).reason).toBe("Conflict");
  });
});
