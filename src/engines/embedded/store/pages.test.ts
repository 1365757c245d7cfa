import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ListOptions } from "#kube/object-client.ts";
import { ConfigMaps, Namespaces } from "#model/core-kinds.ts";
import { Pods } from "#model/pod.ts";
import { aMap, aPod, openTestStore, refusal, type TestStore } from "../../../../test/world/bare-store.ts";

const at = (name: string) => ({ namespace: "default", name });
const names = (items: readonly { metadata: { name?: string } }[]) => items.map(({ metadata }) => metadata.name);

async function filled(...keys: string[]): Promise<TestStore> {
  const store = openTestStore();
  for (const key of keys) await store.create(ConfigMaps, aMap(key));
  return store;
}

/** All pages of a list, with something happening between them. */
async function pages(store: TestStore, options: ListOptions, between: () => Promise<unknown>): Promise<(string | undefined)[][]> {
  const seen: (string | undefined)[][] = [];
  let token: string | undefined;
  do {
    const page = await store.list(ConfigMaps, { ...options, continue: token });
    seen.push(names(page.items));
    token = page.continue;
    await between();
  } while (token !== undefined);
  return seen;
}

describe("a list", () => {
  test("is in the order of namespace and name as etcd has them, at the newest version", async () => {
    using store = await filled("b", "a");
    for (const namespace of ["a", "a-b"]) {
      await store.create(Namespaces, { metadata: { name: namespace } });
      await store.create(ConfigMaps, aMap("x", { metadata: { namespace } }));
    }
    const { items, ...list } = await store.list(ConfigMaps);
    expect(items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual(["a-b/x", "a/x", "default/a", "default/b"]);
    expect(list).toEqual({ resourceVersion: String(store.stats().newestRevision) });
    expect(names((await store.list(ConfigMaps, { namespace: "a" })).items)).toEqual(["x"]);
  });

  test("hands out the very objects that reads do", async () => {
    using store = await filled("a");
    const [item] = (await store.list(ConfigMaps)).items;
    expect(item).toBe(await store.get(ConfigMaps, at("a")));
  });

  test("is narrowed by labels and fields", async () => {
    using store = openTestStore();
    await store.create(Pods, aPod("a", { metadata: { labels: { color: "red" } }, spec: { nodeName: "n" } }));
    await store.create(Pods, aPod("b", { metadata: { labels: { color: "red" } } }));
    await store.create(Pods, aPod("c"));
    const list = async (options: ListOptions) => names((await store.list(Pods, options)).items);
    expect(await list({ labelSelector: "color=red" })).toEqual(["a", "b"]);
    expect(await list({ labelSelector: "color=red", fieldSelector: "spec.nodeName=" })).toEqual(["b"]);
    expect(await list({ fieldSelector: "spec.nodeName!=n,metadata.name!=c" })).toEqual(["b"]);
    expect(await list({ labelSelector: " ", fieldSelector: "" })).toEqual(["a", "b", "c"]);
    expect((await refusal(store.list(Pods, { fieldSelector: "spec.x=1" }))).message).toBe("field label not supported: spec.x");
  });
});

describe("pages", () => {
  test("say how many objects remain, unless a selector hides it", async () => {
    using store = await filled("a", "b", "c");
    await store.create(ConfigMaps, aMap("elsewhere", { metadata: { namespace: "kube-system" } }));
    const first = await store.list(ConfigMaps, { limit: 1, namespace: "default" });
    expect(first).toMatchObject({ remainingItemCount: 2, continue: expect.any(String) });
    const second = await store.list(ConfigMaps, { limit: 1, namespace: "default", continue: first.continue });
    expect(second).toMatchObject({ remainingItemCount: 1 });
    const last = await store.list(ConfigMaps, { namespace: "default", continue: second.continue });
    expect(last).toEqual({ items: [expect.anything()], resourceVersion: first.resourceVersion });
    const narrowed = await store.list(ConfigMaps, { limit: 1, namespace: "default", fieldSelector: "metadata.name!=a" });
    expect(narrowed).toEqual({ items: [expect.anything()], resourceVersion: first.resourceVersion, continue: expect.any(String) });
  });

  test("show the state of the first page, whatever is written in between", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 10, max: 99 }), { minLength: 1, maxLength: 30 }),
        fc.array(fc.record({ name: fc.integer({ min: 10, max: 99 }), remove: fc.boolean() }), { minLength: 40, maxLength: 40 }),
        fc.integer({ min: 1, max: 7 }),
        async (present, changes, limit) => {
          using store = await filled(...present.map((one) => `m${one}`));
          const before = (await store.list(ConfigMaps)).items;
          const seen = await pages(store, { limit }, async () => {
            const { name, remove } = changes.pop() ?? { name: 10, remove: true };
            const key = at(`m${name}`);
            if (remove) await store.delete(ConfigMaps, key).catch(() => {});
            else
              await store
                .update(ConfigMaps, aMap(key.name, { data: { changed: String(changes.length) } }))
                .catch(() => store.create(ConfigMaps, aMap(key.name)));
          });
          expect(seen.flat()).toEqual(names(before));
          for (const page of seen.slice(0, -1)) expect(page).toHaveLength(limit);
        },
      ),
      { numRuns: 30 },
    );
  });

  test("show objects as they were", async () => {
    using store = await filled("a", "b");
    const first = await store.list(ConfigMaps, { limit: 1 });
    await store.patch(ConfigMaps, at("b"), { type: "merge", body: { data: { greeting: "bye" } } });
    const second = await store.list(ConfigMaps, { limit: 1, continue: first.continue });
    expect(second.items).toMatchObject([{ data: { greeting: "hello" } }]);
    expect(second.resourceVersion).toBe(first.resourceVersion);
  });

  test("read long stretches of an old state in pieces", async () => {
    using store = openTestStore();
    for (let i = 0; i < 1200; i++) await store.create(ConfigMaps, aMap(`m${String(i).padStart(4, "0")}`));
    const first = await store.list(ConfigMaps, { limit: 1 });
    for (let i = 0; i < 600; i++) await store.delete(ConfigMaps, at(`m${String(i).padStart(4, "0")}`));
    const rest = await store.list(ConfigMaps, { continue: first.continue });
    expect(rest.items).toHaveLength(1199);
  });

  test("whose state is forgotten are Expired", async () => {
    using store = openTestStore({ history: { revisions: 5, ms: 0 } });
    for (const name of ["a", "b", "c"]) await store.create(ConfigMaps, aMap(name));
    const first = await store.list(ConfigMaps, { limit: 1 });
    for (let i = 0; i < 20; i++) await store.patch(ConfigMaps, at("a"), { type: "merge", body: { data: { i: String(i) } } });
    await store.clock.step(60_000);
    expect(await refusal(store.list(ConfigMaps, { continue: first.continue }))).toMatchObject({ reason: "Expired", code: 410 });
  });

  test.for(["nonsense", "e30", Buffer.from("7").toString("base64url")])("do not go on from the token %s", async (token) => {
    using store = await filled("a");
    expect(await refusal(store.list(ConfigMaps, { continue: token }))).toMatchObject({ reason: "BadRequest" });
  });
});
