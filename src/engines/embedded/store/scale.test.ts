import { expect, test } from "vitest";
import type { Scale } from "#kube/object-client.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import { Pools } from "../../../../test/world/bare-kinds.ts";
import { aMap, aPool, openTestStore, refusal } from "../../../../test/world/bare-store.ts";

const at = { namespace: "default", name: "p" };
const wanting = (replicas: number, metadata: Scale["metadata"] = {}): Scale => ({ metadata: { ...at, ...metadata }, spec: { replicas } });

test("a scale shows the numbers of the object and is its version", async () => {
  using store = openTestStore();
  await store.create(Pools, aPool("p", { spec: { replicas: 3 } }));
  const body = { status: { replicas: 2, selector: "pool=p" } };
  const { metadata } = await store.patch(Pools, at, { type: "merge", body }, { subresource: "status" });
  expect(await store.getScale(Pools, at)).toEqual({
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { ...at, uid: metadata.uid, resourceVersion: metadata.resourceVersion, creationTimestamp: metadata.creationTimestamp },
    spec: { replicas: 3 },
    status: { replicas: 2, selector: "pool=p" },
  });
});

test("a new scale is a new version and generation of the object, the same one is none", async () => {
  using store = openTestStore();
  await store.create(Pools, aPool("p", { spec: { replicas: 3, note: "kept" } }));
  const scaled = await store.updateScale(Pools, at, wanting(5));
  expect(scaled).toMatchObject({ spec: { replicas: 5 }, status: { replicas: 0 } });
  const pool = await store.get(Pools, at);
  expect(pool).toMatchObject({ spec: { replicas: 5, note: "kept" }, metadata: { generation: 2 } });
  expect((await store.updateScale(Pools, at, wanting(5))).metadata.resourceVersion).toBe(pool.metadata.resourceVersion);
});

test("a scale that names a version or a uid is conditional", async () => {
  using store = openTestStore();
  const { metadata } = await store.create(Pools, aPool("p"));
  await store.updateScale(Pools, at, wanting(2, { resourceVersion: metadata.resourceVersion ?? "" }));
  const old = wanting(3, { resourceVersion: metadata.resourceVersion ?? "" });
  expect((await refusal(store.updateScale(Pools, at, old))).reason).toBe("Conflict");
  expect((await refusal(store.updateScale(Pools, at, wanting(3, { uid: "other" })))).reason).toBe("Conflict");
  expect((await refusal(store.updateScale(Pools, at, wanting(3, { name: "q" })))).reason).toBe("BadRequest");
});

test("a scale is patched like an object", async () => {
  using store = openTestStore();
  await store.create(Pools, aPool("p", { spec: { replicas: 1 } }));
  const isOne = { op: "test", path: "/spec/replicas", value: 1 } as const;
  const operations = [isOne, { op: "replace", path: "/spec/replicas", value: 4 }] as const;
  expect((await store.patchScale(Pools, at, { type: "json", operations })).spec.replicas).toBe(4);
  expect((await refusal(store.patchScale(Pools, at, { type: "json", operations }))).reason).toBe("Invalid");
  expect((await store.patchScale(Pools, at, { type: "merge", body: { spec: { replicas: 6 } } })).spec.replicas).toBe(6);
  const wrong = { type: "merge", body: { spec: { replicas: "many" } } } as const;
  expect((await refusal(store.patchScale(Pools, at, wrong))).reason).toBe("Invalid");
  const stale = { type: "merge", body: { metadata: { resourceVersion: "1" }, spec: { replicas: 9 } } } as const;
  expect((await refusal(store.patchScale(Pools, at, stale))).reason).toBe("Conflict");
});

test("there is no scale where there is none", async () => {
  using store = openTestStore();
  await store.create(ConfigMaps, aMap("p"));
  expect((await refusal(store.getScale(ConfigMaps, at))).message).toBe("the server could not find the requested resource");
  expect((await refusal(store.getScale(Pools, at))).message).toBe('pools.example.com "p" not found');
  await store.create(Pools, aPool("p", { spec: {} }));
  expect((await refusal(store.getScale(Pools, at))).message).toContain('the spec replicas field ".spec.replicas" does not exist');
});
