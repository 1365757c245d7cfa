import { expect, test } from "vitest";
import type { JsonPatchOperation } from "#kube/object-client.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import type { JsonObject } from "#model/meta.ts";
import { Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { aConfigMap, aPod, refusal } from "./helpers.ts";
import { aPool } from "./own-kinds.ts";
import { describeServers, type ContractServer } from "./servers.ts";

const json = (...operations: JsonPatchOperation[]) => ({ type: "json", operations }) as const;
const merge = (body: JsonObject) => ({ type: "merge", body }) as const;

async function made(server: ContractServer) {
  const namespace = await server.namespace();
  const object = await server.client.create(
    ConfigMaps,
    aConfigMap(namespace, "patched", { metadata: { labels: { tier: "one", keep: "me" } }, data: { a: "1", b: "2" } }),
  );
  return { object, key: { namespace, name: "patched" } };
}

describeServers("merge patches", (server) => {
  test("a merge patch sets, keeps and removes", async () => {
    const { object, key } = await made(server());
    const next = await server().client.patch(ConfigMaps, key, merge({ data: { a: null, c: "3" } }));
    expect(next.data).toEqual({ b: "2", c: "3" });
    expect(next.metadata.labels).toEqual(object.metadata.labels);
    expect(next.metadata.uid).toBe(object.metadata.uid);
  });

  test("a merge patch replaces lists as a whole", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(SandboxPools, aPool(namespace, "listed", { runtimes: [{ name: "e2b" }, { name: "swerex" }] }));
    const next = await client.patch(SandboxPools, { namespace, name: "listed" }, merge({ spec: { runtimes: [{ name: "other" }] } }));
    expect(next.spec.runtimes?.map((runtime) => runtime.name)).toEqual(["other"]);
  });

  test("a merge patch that changes nothing keeps the version", async () => {
    const { object, key } = await made(server());
    const next = await server().client.patch(ConfigMaps, key, merge({ data: { a: "1" } }));
    expect(next.metadata.resourceVersion).toBe(object.metadata.resourceVersion);
  });

  test("a resourceVersion in a merge patch makes it conditional", async () => {
    const { object, key } = await made(server());
    const version = object.metadata.resourceVersion ?? "";
    await server().client.patch(ConfigMaps, key, merge({ metadata: { resourceVersion: version }, data: { a: "first" } }));
    const no = await refusal(
      server().client.patch(ConfigMaps, key, merge({ metadata: { resourceVersion: version }, data: { a: "second" } })),
    );
    expect(no.reason).toBe("Conflict");
  });

  test("of many conditional patches on one version exactly one wins", async () => {
    const { object, key } = await made(server());
    const metadata = { resourceVersion: object.metadata.resourceVersion ?? "" };
    const tries = await Promise.allSettled(
      Array.from({ length: 12 }, (_, i) => server().client.patch(ConfigMaps, key, merge({ metadata, data: { winner: String(i) } }))),
    );
    expect(tries.filter((one) => one.status === "fulfilled")).toHaveLength(1);
  });

  test("unconditional patches at once all take effect", async () => {
    const { key } = await made(server());
    await Promise.all(Array.from({ length: 5 }, (_, i) => server().client.patch(ConfigMaps, key, merge({ data: { [`n${i}`]: "x" } }))));
    const read = await server().client.get(ConfigMaps, key);
    expect(Object.keys(read.data ?? {}).sort()).toEqual(["a", "b", "n0", "n1", "n2", "n3", "n4"]);
  });

  test("a uid in a merge patch that is not the object's is refused", async () => {
    const { key } = await made(server());
    const no = await refusal(
      server().client.patch(ConfigMaps, key, merge({ metadata: { uid: "00000000-0000-4000-8000-000000000000" }, data: { a: "x" } })),
    );
    expect(no).toMatchObject({ reason: "Invalid", fields: ["metadata.uid"] });
  });

  test("a merge patch cannot rename", async () => {
    const { key } = await made(server());
    const no = await refusal(server().client.patch(ConfigMaps, key, merge({ metadata: { name: "other" } })));
    expect(no.reason).toBe("BadRequest");
  });

  test("a merge patch may remove all labels", async () => {
    const { key } = await made(server());
    const next = await server().client.patch(ConfigMaps, key, merge({ metadata: { labels: null } }));
    expect(next.metadata.labels).toBeUndefined();
  });

  test("a merge patch of what is not there is NotFound", async () => {
    const { key } = await made(server());
    const no = await refusal(server().client.patch(ConfigMaps, { ...key, name: "nobody" }, merge({ data: {} })));
    expect(no.reason).toBe("NotFound");
  });

  test("a merge patch with a wrong value is refused at its path and changes nothing", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const pool = await client.create(SandboxPools, aPool(namespace, "bad"));
    const no = await refusal(client.patch(SandboxPools, { namespace, name: "bad" }, merge({ spec: { replicas: -3 } })));
    expect(no.reason).toBe("Invalid");
    expect(no.fields).toContain("spec.replicas");
    expect(await client.get(SandboxPools, { namespace, name: "bad" })).toEqual(pool);
  });

  test("removing a field that has a default brings the default back", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(SandboxPools, aPool(namespace, "defaulted", { podCreationImagePolicy: "PoolDefaultImage" }));
    const next = await client.patch(SandboxPools, { namespace, name: "defaulted" }, merge({ spec: { podCreationImagePolicy: null } }));
    expect(next.spec.podCreationImagePolicy).toBe("IdleImage");
  });

  test("a merge patch through the status subresource changes only the status", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(SandboxPools, aPool(namespace, "status"));
    const next = await client.patch(
      SandboxPools,
      { namespace, name: "status" },
      merge({ spec: { replicas: 50 }, status: { idleReplicas: 3 } }),
      {
        subresource: "status",
      },
    );
    expect(next.spec.replicas).toBe(2);
    expect(next.status?.idleReplicas).toBe(3);
    expect(next.metadata.generation).toBe(1);
  });

  test("an ordinary merge patch does not touch the status", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(SandboxPools, aPool(namespace, "status"));
    const next = await client.patch(SandboxPools, { namespace, name: "status" }, merge({ status: { idleReplicas: 3 } }));
    expect(next.status).toBeUndefined();
  });

  test("a dry-run patch answers as if and keeps nothing", async () => {
    const { object, key } = await made(server());
    const next = await server().client.patch(ConfigMaps, key, merge({ data: { a: "dry" } }), { dryRun: true });
    expect(next.data?.["a"]).toBe("dry");
    expect(await server().client.get(ConfigMaps, key)).toEqual(object);
  });

  test("a claim-sized patch of a pod changes labels, annotations and image in one write", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const pod = await client.create(
      Pods,
      aPod(namespace, "claimed", { metadata: { labels: { phase: "idle" }, annotations: { mark: "x" } } }),
    );
    const next = await client.patch(
      Pods,
      { namespace, name: "claimed" },
      json(
        { op: "test", path: "/metadata/resourceVersion", value: pod.metadata.resourceVersion ?? "" },
        { op: "replace", path: "/metadata/labels/phase", value: "starting" },
        { op: "remove", path: "/metadata/annotations/mark" },
        { op: "add", path: "/metadata/annotations/agentbox.navix.sh~1sandbox-id", value: "s1" },
        { op: "replace", path: "/spec/containers/0/image", value: "registry.invalid/app:2-u1" },
      ),
    );
    expect(next.metadata.labels).toEqual({ phase: "starting" });
    expect(next.metadata.annotations).toEqual({ "agentbox.navix.sh/sandbox-id": "s1" });
    expect(next.spec.containers[0]?.image).toBe("registry.invalid/app:2-u1");
  });
});

describeServers("JSON patches", (server) => {
  test("add, replace and remove work by path", async () => {
    const { key } = await made(server());
    const next = await server().client.patch(
      ConfigMaps,
      key,
      json({ op: "add", path: "/data/c", value: "3" }, { op: "replace", path: "/data/a", value: "one" }, { op: "remove", path: "/data/b" }),
    );
    expect(next.data).toEqual({ a: "one", c: "3" });
  });

  test("move and copy work by path", async () => {
    const { key } = await made(server());
    const next = await server().client.patch(
      ConfigMaps,
      key,
      json({ op: "copy", from: "/data/a", path: "/data/c" }, { op: "move", from: "/data/b", path: "/data/d" }),
    );
    expect(next.data).toEqual({ a: "1", c: "1", d: "2" });
  });

  test("a slash and a tilde in a key are escaped", async () => {
    const { key } = await made(server());
    const next = await server().client.patch(
      ConfigMaps,
      key,
      json(
        { op: "add", path: "/metadata/annotations", value: {} },
        { op: "add", path: "/metadata/annotations/example.com~1x", value: "y" },
      ),
    );
    expect(next.metadata.annotations).toEqual({ "example.com/x": "y" });
  });

  test("a dash appends to a list and a number inserts into it", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(ConfigMaps, aConfigMap(namespace, "listed", { metadata: { finalizers: ["example.com/b"] } }));
    const key = { namespace, name: "listed" };
    const next = await client.patch(
      ConfigMaps,
      key,
      json(
        { op: "add", path: "/metadata/finalizers/-", value: "example.com/c" },
        { op: "add", path: "/metadata/finalizers/0", value: "example.com/a" },
      ),
    );
    expect(next.metadata.finalizers).toEqual(["example.com/a", "example.com/b", "example.com/c"]);
    await client.patch(ConfigMaps, key, merge({ metadata: { finalizers: null } }));
  });

  test("a failed test refuses the whole patch as Invalid", async () => {
    const { object, key } = await made(server());
    const no = await refusal(
      server().client.patch(
        ConfigMaps,
        key,
        json({ op: "replace", path: "/data/a", value: "changed" }, { op: "test", path: "/metadata/labels/tier", value: "two" }),
      ),
    );
    expect(no).toMatchObject({ reason: "Invalid", code: 422 });
    expect(await server().client.get(ConfigMaps, key)).toEqual(object);
  });

  test("a test on a missing path refuses the patch", async () => {
    const { key } = await made(server());
    const no = await refusal(server().client.patch(ConfigMaps, key, json({ op: "test", path: "/data/zzz", value: "x" })));
    expect(no).toMatchObject({ reason: "Invalid", code: 422 });
  });

  test("a test for null holds where nothing is", async () => {
    const { key } = await made(server());
    const next = await server().client.patch(
      ConfigMaps,
      key,
      json({ op: "test", path: "/data/zzz", value: null }, { op: "add", path: "/data/zzz", value: "new" }),
    );
    expect(next.data?.["zzz"]).toBe("new");
  });

  test("a test compares whole values", async () => {
    const { key } = await made(server());
    const next = await server().client.patch(
      ConfigMaps,
      key,
      json({ op: "test", path: "/data", value: { b: "2", a: "1" } }, { op: "add", path: "/data/c", value: "3" }),
    );
    expect(next.data).toEqual({ a: "1", b: "2", c: "3" });
  });

  test("removing what is not there refuses the patch", async () => {
    const { key } = await made(server());
    expect(await refusal(server().client.patch(ConfigMaps, key, json({ op: "remove", path: "/data/zzz" })))).toMatchObject({
      reason: "Invalid",
      code: 422,
    });
  });

  test("adding below a parent that is not there refuses the patch", async () => {
    const { key } = await made(server());
    const no = await refusal(server().client.patch(ConfigMaps, key, json({ op: "add", path: "/metadata/annotations/x", value: "y" })));
    expect(no).toMatchObject({ reason: "Invalid", code: 422 });
  });

  test("a patch that leaves a wrong value is refused at its path", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(SandboxPools, aPool(namespace, "bad"));
    const no = await refusal(
      client.patch(SandboxPools, { namespace, name: "bad" }, json({ op: "replace", path: "/spec/replicas", value: "many" })),
    );
    expect(no.reason).toBe("Invalid");
    expect(no.fields).toContain("spec.replicas");
  });

  test("an empty patch changes nothing", async () => {
    const { object, key } = await made(server());
    const next = await server().client.patch(ConfigMaps, key, json());
    expect(next.metadata.resourceVersion).toBe(object.metadata.resourceVersion);
  });

  test("many patches that test the same label hand the object to exactly one of them", async () => {
    const { key } = await made(server());
    const tries = await Promise.allSettled(
      Array.from({ length: 12 }, (_, i) =>
        server().client.patch(
          ConfigMaps,
          key,
          json(
            { op: "test", path: "/metadata/labels/tier", value: "one" },
            { op: "replace", path: "/metadata/labels/tier", value: `taken-${i}` },
          ),
        ),
      ),
    );
    expect(tries.filter((one) => one.status === "fulfilled")).toHaveLength(1);
  });
});
