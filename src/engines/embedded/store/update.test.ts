import { describe, expect, test } from "vitest";
import { ConfigMaps, Leases } from "#model/core-kinds.ts";
import type { JsonObject } from "#model/meta.ts";
import { Pods } from "#model/pod.ts";
import { Pools } from "../../../../test/world/bare-kinds.ts";
import { nested } from "../../../../test/world/nested-json.ts";
import { aMap, aPod, aPool, openTestStore, refusal } from "../../../../test/world/bare-store.ts";

const merge = (body: JsonObject) => ({ type: "merge", body }) as const;
const at = (name: string) => ({ namespace: "default", name });
const isModified = "the object has been modified; please apply your changes to the latest version and try again";

describe("an update", () => {
  test("under the current version takes the place of the object", async () => {
    using store = openTestStore();
    const made = await store.create(ConfigMaps, aMap("m"));
    const next = await store.update(ConfigMaps, { ...made, data: { other: "1" } });
    expect(next.data).toEqual({ other: "1" });
    expect(Number(next.metadata.resourceVersion)).toBe(Number(made.metadata.resourceVersion) + 1);
    expect(await store.get(ConfigMaps, at("m"))).toBe(next);
  });

  test("under an old version is a conflict", async () => {
    using store = openTestStore();
    const made = await store.create(Pools, aPool("p"));
    await store.update(Pools, { ...made, spec: { replicas: 2 } });
    expect(await refusal(store.update(Pools, { ...made, spec: { replicas: 3 } }))).toMatchObject({
      reason: "Conflict",
      code: 409,
      message: `Operation cannot be fulfilled on pools.example.com "p": ${isModified}`,
    });
  });

  test("without a version overwrites what Kubernetes lets it overwrite, and nothing else", async () => {
    using store = openTestStore();
    await store.create(ConfigMaps, aMap("m"));
    expect((await store.update(ConfigMaps, aMap("m", { data: { b: "2" } }))).data).toEqual({ b: "2" });
    await store.create(Pools, aPool("p"));
    await store.create(Leases, { metadata: at("l") });
    const missing = "is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update";
    expect(await refusal(store.update(Pools, aPool("p")))).toMatchObject({
      reason: "Invalid",
      message: `pools.example.com "p" ${missing}`,
    });
    expect((await refusal(store.update(Leases, { metadata: at("l") }))).message).toContain(missing);
  });

  test("with the uid of another object is a conflict", async () => {
    using store = openTestStore();
    const made = await store.create(Pools, aPool("p"));
    const stranger = { ...made, metadata: { ...made.metadata, uid: "other" } };
    expect(await refusal(store.update(Pools, stranger))).toMatchObject({
      reason: "Conflict",
      message: expect.stringMatching(
        /^Operation cannot be fulfilled on pools\.example\.com "p": .*Key: \/registry\/example\.com\/pools\/default\/p,.* UID in precondition: other, UID in object meta: [0-9a-f-]{36}$/,
      ),
    });
  });

  test("of what is not there is NotFound, but a lease is made", async () => {
    using store = openTestStore();
    expect(await refusal(store.update(ConfigMaps, aMap("m")))).toMatchObject({ reason: "NotFound", message: 'configmaps "m" not found' });
    const made = await store.update(Leases, { metadata: { ...at("l"), resourceVersion: "77" }, spec: { holderIdentity: "me" } });
    expect(made.spec?.holderIdentity).toBe("me");
    expect(await refusal(store.update(Leases, { metadata: { ...at("l2"), uid: "was" } }))).toMatchObject({ reason: "Conflict" });
  });

  test("that changes nothing is none", async () => {
    using store = openTestStore();
    const made = await store.create(Pools, aPool("p"));
    const before = store.stats();
    expect(await store.update(Pools, structuredClone(made))).toBe(made);
    expect(await store.patch(Pools, at("p"), merge({ spec: { replicas: 1 } }))).toBe(made);
    expect(store.stats()).toEqual(before);
  });

  test("cannot change what the server owns", async () => {
    using store = openTestStore();
    const made = await store.create(Pools, aPool("p"));
    const claims = { ...made.metadata, creationTimestamp: "2001-01-01T00:00:00Z", generation: 9, labels: { a: "b" } };
    const next = await store.update(Pools, { ...made, metadata: claims });
    expect(next.metadata).toEqual({ ...made.metadata, labels: { a: "b" }, resourceVersion: next.metadata.resourceVersion });
  });

  test("with a version that is no number is refused", async () => {
    using store = openTestStore();
    await store.create(ConfigMaps, aMap("m"));
    expect(await refusal(store.update(ConfigMaps, aMap("m", { metadata: { resourceVersion: "new" } })))).toMatchObject({ code: 500 });
  });

  test("shares with the version before what is the same", async () => {
    using store = openTestStore();
    const made = await store.create(Pods, aPod("p"));
    const next = await store.update(Pods, structuredClone({ ...made, metadata: { ...made.metadata, labels: { a: "b" } } }));
    expect(next.spec).toBe(made.spec);
  });
});

describe("the generation", () => {
  test("grows with the content, not with metadata or status", async () => {
    using store = openTestStore();
    await store.create(Pools, aPool("p"));
    const generation = async (body: JsonObject, subresource?: "status") => {
      return (await store.patch(Pools, at("p"), merge(body), { subresource })).metadata.generation;
    };
    expect(await generation({ metadata: { labels: { a: "b" } } })).toBe(1);
    expect(await generation({ status: { replicas: 1 } }, "status")).toBe(1);
    expect(await generation({ spec: { replicas: 5 }, status: { replicas: 9 } }, "status")).toBe(1);
    expect(await generation({ spec: { replicas: 5 } })).toBe(2);
    expect(await generation({ spec: null })).toBe(3);
  });

  test("is counted for pods, not for config maps", async () => {
    using store = openTestStore();
    await store.create(Pods, aPod("p"));
    expect((await store.patch(Pods, at("p"), merge({ spec: { activeDeadlineSeconds: 5 } }))).metadata.generation).toBe(2);
    await store.create(ConfigMaps, aMap("m"));
    expect((await store.patch(ConfigMaps, at("m"), merge({ data: { b: "2" } }))).metadata).not.toHaveProperty("generation");
  });
});

describe("the status", () => {
  test("is written through its subresource only, and nothing else is", async () => {
    using store = openTestStore();
    await store.create(Pools, aPool("p"));
    const main = await store.patch(Pools, at("p"), merge({ status: { replicas: 3 } }));
    expect(main).not.toHaveProperty("status");
    const status = await store.patch(Pools, at("p"), merge({ spec: { replicas: 9 }, status: { replicas: 3 } }), { subresource: "status" });
    expect(status).toMatchObject({ spec: { replicas: 1 }, status: { replicas: 3 } });
  });

  test("is no subresource of a kind without one", async () => {
    using store = openTestStore();
    await store.create(ConfigMaps, aMap("m"));
    const no = await refusal(store.patch(ConfigMaps, at("m"), merge({}), { subresource: "status" }));
    expect(no).toMatchObject({ reason: "NotFound", message: "the server could not find the requested resource" });
  });
});

describe("a patch", () => {
  test("with a version is conditional", async () => {
    using store = openTestStore();
    const { metadata } = await store.create(Pools, aPool("p"));
    const version = metadata.resourceVersion ?? "";
    await store.patch(Pools, at("p"), merge({ metadata: { resourceVersion: version }, spec: { replicas: 2 } }));
    const no = await refusal(store.patch(Pools, at("p"), merge({ metadata: { resourceVersion: version }, spec: { replicas: 3 } })));
    expect(no.reason).toBe("Conflict");
    expect((await refusal(store.patch(Pools, at("p"), merge({ metadata: { resourceVersion: null } })))).reason).toBe("Invalid");
  });

  test("cannot move the object", async () => {
    using store = openTestStore();
    await store.create(ConfigMaps, aMap("m"));
    const message = async (metadata: JsonObject) => (await refusal(store.patch(ConfigMaps, at("m"), merge({ metadata })))).message;
    expect(await message({ name: "n" })).toBe("the name of the object (n) does not match the name on the URL (m)");
    expect(await message({ name: null })).toContain("name must be provided");
    expect(await message({ namespace: "kube-system" })).toContain("does not match the namespace sent on the request");
  });

  test("whose test fails changes nothing and is Invalid", async () => {
    using store = openTestStore();
    const made = await store.create(ConfigMaps, aMap("m"));
    const operations = [
      { op: "replace", path: "/data/greeting", value: "bye" },
      { op: "test", path: "/data/greeting", value: "hello" },
    ] as const;
    const no = await refusal(store.patch(ConfigMaps, at("m"), { type: "json", operations }));
    expect(no).toMatchObject({ reason: "Invalid", code: 422, message: expect.stringContaining("test failed at /data/greeting") });
    expect(await store.get(ConfigMaps, at("m"))).toBe(made);
  });

  test("that leaves no object is refused", async () => {
    using store = openTestStore();
    await store.create(ConfigMaps, aMap("m"));
    const no = await refusal(store.patch(ConfigMaps, at("m"), { type: "json", operations: [{ op: "replace", path: "", value: 5 }] }));
    expect(no).toMatchObject({ reason: "Invalid", code: 422 });
  });

  test("that adds a surplus field is Invalid if it is strict", async () => {
    using store = openTestStore();
    await store.create(ConfigMaps, aMap("m"));
    const no = await refusal(store.patch(ConfigMaps, at("m"), merge({ surplus: 1 }), { fieldValidation: "Strict" }));
    expect(no).toMatchObject({ reason: "Invalid", causes: [{ field: "patch" }] });
    expect(no.message).toContain('strict decoding error: unknown field "surplus"');
  });

  test("of what is not there is NotFound", async () => {
    using store = openTestStore();
    expect((await refusal(store.patch(Pools, at("p"), merge({})))).message).toBe('pools.example.com "p" not found');
  });

  test("as a dry run answers as if", async () => {
    using store = openTestStore();
    const made = await store.create(Pools, aPool("p"));
    const next = await store.patch(Pools, at("p"), merge({ spec: { replicas: 2 } }), { dryRun: true });
    expect(next).toMatchObject({ spec: { replicas: 2 }, metadata: { generation: 2, resourceVersion: made.metadata.resourceVersion } });
    expect(Object.isFrozen(next.spec)).toBe(true);
    expect(await store.get(Pools, at("p"))).toBe(made);
  });

  test("cannot reach into the caller's later changes of it", async () => {
    using store = openTestStore();
    await store.create(ConfigMaps, aMap("m"));
    const body = { data: { a: "1" } };
    const next = await store.patch(ConfigMaps, at("m"), { type: "merge", body });
    body.data.a = "2";
    expect(next.data?.["a"]).toBe("1");
  });
});

describe("what is nested deeper than anything that walks it could hold is refused", () => {
  const tooDeep = { reason: "BadRequest", message: "the object is nested more than 500 levels deep, which is the most that is taken" };
  // No such object can be typed, which does not keep a client from sending it.
  const deep = (levels: number) => ({ annotations: nested(levels) as never });

  test.for([501, 5_000, 100_000])("in a create, an update and both patches: %i levels", async (levels) => {
    using store = openTestStore();
    await store.create(Pools, aPool("p"));
    const add = { type: "json", operations: [{ op: "add", path: "/spec/x", value: nested(levels) }] } as const;
    expect(await refusal(store.create(Pools, { metadata: { ...at("q"), ...deep(levels) } }))).toMatchObject(tooDeep);
    expect(await refusal(store.update(Pools, { metadata: { ...at("p"), ...deep(levels) } }))).toMatchObject(tooDeep);
    expect(await refusal(store.patch(Pools, at("p"), merge({ spec: nested(levels) })))).toMatchObject(tooDeep);
    expect(await refusal(store.patch(Pools, at("p"), add))).toMatchObject(tooDeep);
  });

  test("also when a patch builds it step by step, or names a way so deep", async () => {
    using store = openTestStore();
    await store.create(Pools, aPool("p"));
    const grow = Array.from({ length: 510 }, () => ({ op: "copy", from: "/spec", path: "/spec/x" }) as const);
    expect(await refusal(store.patch(Pools, at("p"), { type: "json", operations: grow }))).toMatchObject(tooDeep);
    const far = { op: "add", path: "/spec".repeat(100_000), value: 1 } as const;
    expect((await refusal(store.patch(Pools, at("p"), { type: "json", operations: [far] }))).message).toContain("at most 500 parts");
  });
});
