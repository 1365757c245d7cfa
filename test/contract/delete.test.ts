import { expect, test } from "vitest";
import { ConfigMaps, Namespaces } from "#model/core-kinds.ts";
import { Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { aConfigMap, aPod, gone, refusal, Watching } from "./helpers.ts";
import { aPool } from "./own-kinds.ts";
import { describeServers } from "./servers.ts";

const noFinalizers = { type: "merge", body: { metadata: { finalizers: null } } } as const;
const held = (namespace: string, name: string) => aConfigMap(namespace, name, { metadata: { finalizers: ["example.com/hold"] } });

describeServers("deleting", (server) => {
  test("a deleted object is gone", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(ConfigMaps, aConfigMap(namespace, "bye"));
    await client.delete(ConfigMaps, { namespace, name: "bye" });
    expect((await refusal(client.get(ConfigMaps, { namespace, name: "bye" }))).reason).toBe("NotFound");
  });

  test("a delete of what is not there is NotFound", async () => {
    const namespace = await server().namespace();
    const no = await refusal(server().client.delete(ConfigMaps, { namespace, name: "nobody" }));
    expect(no).toMatchObject({ reason: "NotFound", message: 'configmaps "nobody" not found' });
  });

  test("a name that was deleted can be used again, for another object", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const first = await client.create(ConfigMaps, aConfigMap(namespace, "again"));
    await client.delete(ConfigMaps, { namespace, name: "again" });
    const second = await client.create(ConfigMaps, aConfigMap(namespace, "again"));
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    expect(Number(second.metadata.resourceVersion)).toBeGreaterThan(Number(first.metadata.resourceVersion));
  });

  test("a delete with another uid is a conflict and deletes nothing", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(ConfigMaps, aConfigMap(namespace, "kept"));
    const no = await refusal(
      client.delete(ConfigMaps, { namespace, name: "kept" }, { preconditions: { uid: "00000000-0000-4000-8000-000000000000" } }),
    );
    expect(no.reason).toBe("Conflict");
    expect(no.message).toContain("UID");
    await client.get(ConfigMaps, { namespace, name: "kept" });
  });

  test("a delete with an old version is a conflict and deletes nothing", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, aConfigMap(namespace, "kept"));
    await client.update(ConfigMaps, { ...made, data: { greeting: "claimed meanwhile" } });
    const { uid, resourceVersion } = made.metadata;
    const no = await refusal(client.delete(ConfigMaps, { namespace, name: "kept" }, { preconditions: { uid, resourceVersion } }));
    expect(no.reason).toBe("Conflict");
    await client.get(ConfigMaps, { namespace, name: "kept" });
  });

  test("a delete with the right uid and version is taken", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const { metadata } = await client.create(ConfigMaps, aConfigMap(namespace, "sure"));
    const { uid, resourceVersion } = metadata;
    await client.delete(ConfigMaps, { namespace, name: "sure" }, { preconditions: { uid, resourceVersion } });
    expect((await refusal(client.get(ConfigMaps, { namespace, name: "sure" }))).reason).toBe("NotFound");
  });

  test("of an update and a conditional delete of the same version exactly one wins", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    for (let round = 0; round < 5; round++) {
      const made = await client.create(ConfigMaps, aConfigMap(namespace, `race-${round}`));
      const key = { namespace, name: `race-${round}` };
      const { uid, resourceVersion } = made.metadata;
      const [updated, deleted] = await Promise.allSettled([
        client.update(ConfigMaps, { ...made, data: { claimed: "yes" } }),
        client.delete(ConfigMaps, key, { preconditions: { uid, resourceVersion } }),
      ]);
      expect([updated.status, deleted.status].sort()).toEqual(["fulfilled", "rejected"]);
    }
  });

  test("a dry-run delete deletes nothing", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(ConfigMaps, aConfigMap(namespace, "dry"));
    await client.delete(ConfigMaps, { namespace, name: "dry" }, { dryRun: true });
    expect((await client.get(ConfigMaps, { namespace, name: "dry" })).metadata.deletionTimestamp).toBeUndefined();
  });

  test("an object with a finalizer is marked, stays, and goes with its last finalizer", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, held(namespace, "held"));
    const key = { namespace, name: "held" };
    await client.delete(ConfigMaps, key);
    const marked = await client.get(ConfigMaps, key);
    expect(marked.metadata.deletionTimestamp).toMatch(/Z$/);
    expect(marked.metadata.deletionGracePeriodSeconds).toBe(0);
    expect(Number(marked.metadata.resourceVersion)).toBeGreaterThan(Number(made.metadata.resourceVersion));
    await client.patch(ConfigMaps, key, noFinalizers);
    expect((await refusal(client.get(ConfigMaps, key))).reason).toBe("NotFound");
  });

  test("the watch shows a finalized deletion as MODIFIED, then DELETED", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, held(namespace, "held"));
    await using watching = new Watching(client, ConfigMaps, { namespace, resourceVersion: made.metadata.resourceVersion });
    await client.delete(ConfigMaps, { namespace, name: "held" });
    await client.patch(ConfigMaps, { namespace, name: "held" }, noFinalizers);
    expect(await watching.take(2)).toEqual(["MODIFIED held", "DELETED held"]);
  });

  test("a second delete of a terminating object changes nothing", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(ConfigMaps, held(namespace, "held"));
    const key = { namespace, name: "held" };
    await client.delete(ConfigMaps, key);
    const first = await client.get(ConfigMaps, key);
    await client.delete(ConfigMaps, key);
    expect(await client.get(ConfigMaps, key)).toEqual(first);
    await client.patch(ConfigMaps, key, noFinalizers);
  });

  test("one of two finalizers removed keeps the object", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const key = { namespace, name: "held" };
    await client.create(ConfigMaps, aConfigMap(namespace, "held", { metadata: { finalizers: ["example.com/a", "example.com/b"] } }));
    await client.delete(ConfigMaps, key);
    const left = await client.patch(ConfigMaps, key, { type: "merge", body: { metadata: { finalizers: ["example.com/b"] } } });
    expect(left.metadata.finalizers).toEqual(["example.com/b"]);
    await client.patch(ConfigMaps, key, noFinalizers);
    expect((await refusal(client.get(ConfigMaps, key))).reason).toBe("NotFound");
  });

  test("a terminating object takes no new finalizer", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const key = { namespace, name: "held" };
    await client.create(ConfigMaps, held(namespace, "held"));
    await client.delete(ConfigMaps, key);
    const no = await refusal(
      client.patch(ConfigMaps, key, { type: "merge", body: { metadata: { finalizers: ["example.com/hold", "example.com/new"] } } }),
    );
    expect(no).toMatchObject({ reason: "Invalid", fields: ["metadata.finalizers"] });
    await client.patch(ConfigMaps, key, noFinalizers);
  });

  test("a terminating object can still be changed", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const key = { namespace, name: "held" };
    await client.create(ConfigMaps, held(namespace, "held"));
    await client.delete(ConfigMaps, key);
    const next = await client.patch(ConfigMaps, key, { type: "merge", body: { data: { note: "recorded" } } });
    expect(next.data?.["note"]).toBe("recorded");
    await client.patch(ConfigMaps, key, noFinalizers);
  });

  test("the deletion mark cannot be taken back", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const key = { namespace, name: "held" };
    await client.create(ConfigMaps, held(namespace, "held"));
    await client.delete(ConfigMaps, key);
    const next = await client.patch(ConfigMaps, key, { type: "merge", body: { metadata: { deletionTimestamp: null }, data: { a: "b" } } });
    expect(next.metadata.deletionTimestamp).toBeTypeOf("string");
    await client.patch(ConfigMaps, key, noFinalizers);
  });

  test("marking one of our kinds for deletion raises its generation", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const pool = aPool(namespace, "held");
    await client.create(SandboxPools, { ...pool, metadata: { ...pool.metadata, finalizers: ["example.com/hold"] } });
    await client.delete(SandboxPools, { namespace, name: "held" });
    const marked = await client.get(SandboxPools, { namespace, name: "held" });
    expect(marked.metadata.generation).toBe(2);
    await client.patch(SandboxPools, { namespace, name: "held" }, noFinalizers);
    await gone(client, SandboxPools, { namespace, name: "held" });
  });

  test("the same name cannot be created while the old object terminates", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(ConfigMaps, held(namespace, "held"));
    await client.delete(ConfigMaps, { namespace, name: "held" });
    const no = await refusal(client.create(ConfigMaps, aConfigMap(namespace, "held")));
    expect(no.reason).toBe("AlreadyExists");
    expect(no.message).toContain('object is being deleted: configmaps "held" already exists');
    await client.patch(ConfigMaps, { namespace, name: "held" }, noFinalizers);
  });
});

describeServers("deleting pods", (server) => {
  test("a pod that no node runs goes at once", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(Pods, aPod(namespace, "unscheduled"));
    await client.delete(Pods, { namespace, name: "unscheduled" });
    expect((await refusal(client.get(Pods, { namespace, name: "unscheduled" }))).reason).toBe("NotFound");
  });

  test("a pod on a node gets its grace period and stays until its node removes it", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const key = { namespace, name: "p" };
    await client.create(Pods, aPod(namespace, "p", { spec: { nodeName: "n", terminationGracePeriodSeconds: 17 } }));
    const before = Date.now();
    await client.delete(Pods, key);
    const marked = await client.get(Pods, key);
    expect(marked.metadata.deletionGracePeriodSeconds).toBe(17);
    const until = Date.parse(marked.metadata.deletionTimestamp ?? "");
    expect(until - before).toBeGreaterThan(14_000);
    expect(until - Date.now()).toBeLessThan(18_500);
    await client.delete(Pods, key, { gracePeriodSeconds: 0 });
    expect((await refusal(client.get(Pods, key))).reason).toBe("NotFound");
  });

  test("the default grace period of a pod is 30 seconds", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(Pods, aPod(namespace, "p", { spec: { nodeName: "n" } }));
    await client.delete(Pods, { namespace, name: "p" });
    expect((await client.get(Pods, { namespace, name: "p" })).metadata.deletionGracePeriodSeconds).toBe(30);
  });

  test("a later, shorter grace period wins, a longer one does not", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const key = { namespace, name: "p" };
    const grace = async () => (await client.get(Pods, key)).metadata.deletionGracePeriodSeconds;
    await client.create(Pods, aPod(namespace, "p", { spec: { nodeName: "n" } }));
    await client.delete(Pods, key, { gracePeriodSeconds: 20 });
    expect(await grace()).toBe(20);
    await client.delete(Pods, key, { gracePeriodSeconds: 5 });
    expect(await grace()).toBe(5);
    await client.delete(Pods, key, { gracePeriodSeconds: 25 });
    expect(await grace()).toBe(5);
  });

  test("a pod that has ended goes at once", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const pod = await client.create(Pods, aPod(namespace, "done", { spec: { nodeName: "n" } }));
    await client.update(Pods, { ...pod, status: { ...pod.status, phase: "Succeeded" } }, { subresource: "status" });
    await client.delete(Pods, { namespace, name: "done" });
    expect((await refusal(client.get(Pods, { namespace, name: "done" }))).reason).toBe("NotFound");
  });

  test("a pod with a finalizer survives even grace 0 until the finalizer goes", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const key = { namespace, name: "kept" };
    await client.create(
      Pods,
      aPod(namespace, "kept", { metadata: { finalizers: ["agentbox.navix.sh/sandbox-protection"] }, spec: { nodeName: "n" } }),
    );
    await client.delete(Pods, key, { gracePeriodSeconds: 0 });
    const marked = await client.get(Pods, key);
    expect(marked.metadata.deletionTimestamp).toBeTypeOf("string");
    expect(marked.metadata.deletionGracePeriodSeconds).toBe(0);
    await client.patch(Pods, key, noFinalizers);
    expect((await refusal(client.get(Pods, key))).reason).toBe("NotFound");
  });

  test("a pod within its grace period stays when its finalizer goes", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const key = { namespace, name: "graceful" };
    await client.create(Pods, aPod(namespace, "graceful", { metadata: { finalizers: ["example.com/hold"] }, spec: { nodeName: "n" } }));
    await client.delete(Pods, key);
    await client.patch(Pods, key, noFinalizers);
    expect((await client.get(Pods, key)).metadata.deletionGracePeriodSeconds).toBe(30);
    await client.delete(Pods, key, { gracePeriodSeconds: 0 });
    await gone(client, Pods, key);
  });
});

describeServers("deleting namespaces", (server) => {
  test("a deleted namespace takes everything in it along", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(ConfigMaps, aConfigMap(namespace, "a"));
    await client.create(SandboxPools, aPool(namespace, "b"));
    await client.create(Pods, aPod(namespace, "c"));
    await client.delete(Namespaces, { name: namespace });
    await gone(client, Namespaces, { name: namespace });
    expect((await refusal(client.get(SandboxPools, { namespace, name: "b" }))).reason).toBe("NotFound");
    expect((await client.list(ConfigMaps, { namespace })).items).toEqual([]);
  });

  test("a terminating namespace takes no new objects and waits for finalizers in it", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(ConfigMaps, held(namespace, "held"));
    await client.delete(Namespaces, { name: namespace });
    const marked = await client.get(Namespaces, { name: namespace });
    expect(marked.status?.phase).toBe("Terminating");
    const no = await refusal(client.create(ConfigMaps, aConfigMap(namespace, "late")));
    expect(no).toMatchObject({ reason: "Forbidden", code: 403 });
    expect(no.message).toContain("because it is being terminated");
    await client.patch(ConfigMaps, { namespace, name: "held" }, noFinalizers);
    await gone(client, Namespaces, { name: namespace });
  });

  test("the default namespace cannot be deleted", async () => {
    expect((await refusal(server().client.delete(Namespaces, { name: "default" }))).reason).toBe("Forbidden");
  });
});
