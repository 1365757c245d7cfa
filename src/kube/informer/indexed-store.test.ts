import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ConfigMap, ConfigMaps } from "#model/core-kinds.ts";
import { type Index, IndexedStore, keyOf } from "./indexed-store.ts";

const byColor: Index<ConfigMap> = {
  name: "color",
  type: ConfigMaps,
  extract: ({ data }) => (data?.["color"] === undefined ? [] : [data["color"]]),
};
const byTag: Index<ConfigMap> = { name: "tag", type: ConfigMaps, extract: ({ data }) => data?.["tags"]?.split(",") ?? [] };

function aMap(name: string, data: Record<string, string>, namespace = "ns"): ConfigMap {
  return { metadata: { namespace, name }, data };
}

function names(objects: Iterable<ConfigMap>): (string | undefined)[] {
  return [...objects].map((object) => object.metadata.name);
}

describe("an indexed store", () => {
  test("finds objects by key, namespace and index", () => {
    const store = new IndexedStore([byColor, byTag]);
    store.put(aMap("a", { color: "red", tags: "x,y" }));
    store.put(aMap("b", { color: "red" }, "other"));
    store.put(aMap("c", { tags: "y" }));
    expect(store.size).toBe(3);
    expect(store.get({ namespace: "other", name: "b" })?.data).toEqual({ color: "red" });
    expect(store.get({ namespace: "ns", name: "b" })).toBeUndefined();
    expect(names(store.list())).toEqual(["a", "c", "b"]);
    expect(names(store.list("ns"))).toEqual(["a", "c"]);
    expect(names(store.list("nowhere"))).toEqual([]);
    expect(names(store.lookup(byColor, "red"))).toEqual(["a", "b"]);
    expect(names(store.lookup(byTag, "y"))).toEqual(["a", "c"]);
    expect(store.count(byTag, "x")).toBe(1);
    expect(store.count(byTag, "z")).toBe(0);
  });

  test("cluster-scoped objects live beside namespaced ones", () => {
    const store = new IndexedStore<ConfigMap>([]);
    store.put({ metadata: { name: "a" } });
    store.put(aMap("a", {}));
    expect(store.size).toBe(2);
    expect(store.remove({ name: "a" })?.metadata.namespace).toBeUndefined();
    expect(names(store.list())).toEqual(["a"]);
  });

  test("the first of an index value is the one that has been there longest, however often it changed since", () => {
    const store = new IndexedStore([byColor]);
    for (const name of ["a", "b", "c"]) store.put(aMap(name, { color: "red" }));
    store.put(aMap("a", { color: "red", more: "1" }));
    expect(store.lookup(byColor, "red").next().value?.data).toEqual({ color: "red", more: "1" });
    store.put(aMap("a", { color: "blue" }));
    expect(names(store.lookup(byColor, "red"))).toEqual(["b", "c"]);
    store.put(aMap("a", { color: "red" }));
    expect(names(store.lookup(byColor, "red"))).toEqual(["b", "c", "a"]);
  });

  test("an update gives back what was there, a removal too", () => {
    const store = new IndexedStore<ConfigMap>([]);
    expect(store.put(aMap("a", { n: "1" }))).toBeUndefined();
    expect(store.put(aMap("a", { n: "2" }))?.data).toEqual({ n: "1" });
    expect(store.remove({ namespace: "ns", name: "a" })?.data).toEqual({ n: "2" });
    expect(store.remove({ namespace: "ns", name: "a" })).toBeUndefined();
  });

  test("an index that the store does not keep is an error, not an empty answer", () => {
    const store = new IndexedStore([byColor]);
    expect(() => store.lookup(byTag, "x")).toThrow('no index "tag"');
  });

  test("an update that an index does not look at costs it no change", () => {
    const store = new IndexedStore([byColor]);
    for (const name of ["a", "b"]) store.put(aMap(name, { color: "red" }));
    const walk = store.lookup(byColor, "red");
    expect(walk.next().value?.metadata.name).toBe("a");
    store.put(aMap("a", { color: "red", more: "1" }));
    expect(names(walk)).toEqual(["b"]);
  });

  test("a namespace without objects is not remembered", () => {
    const store = new IndexedStore<ConfigMap>([]);
    store.put(aMap("a", {}, "x"));
    store.put(aMap("a", {}, "y"));
    store.remove({ namespace: "x", name: "a" });
    expect([...store.namespaces()]).toEqual(["y"]);
  });
});

test("after any changes every index equals one computed from scratch", () => {
  const name = fc.constantFrom("a", "b", "c", "d");
  const data = fc.record(
    { color: fc.constantFrom("red", "blue"), tags: fc.constantFrom("x", "y", "x,y", "y,x", "x,x") },
    { requiredKeys: [] },
  );
  const action = fc.oneof(
    fc.record({ put: fc.record({ name, data, namespace: fc.constantFrom("ns", "other") }) }),
    fc.record({ remove: fc.record({ name, namespace: fc.constantFrom("ns", "other") }) }),
  );
  fc.assert(
    fc.property(fc.array(action, { maxLength: 40 }), (actions) => {
      const store = new IndexedStore([byColor, byTag]);
      const model = new Map<string, ConfigMap>();
      for (const act of actions) {
        if ("put" in act) {
          const object = aMap(act.put.name, act.put.data, act.put.namespace);
          store.put(object);
          model.set(`${act.put.namespace}/${act.put.name}`, object);
        } else {
          store.remove(act.remove);
          model.delete(`${act.remove.namespace}/${act.remove.name}`);
        }
      }
      expect(store.size).toBe(model.size);
      expect(new Set(store.list())).toEqual(new Set(model.values()));
      for (const index of [byColor, byTag]) {
        for (const value of ["red", "blue", "x", "y"]) {
          const wanted = [...model.values()].filter((object) => index.extract(object).includes(value));
          expect(new Set(store.lookup(index, value))).toEqual(new Set(wanted));
          expect(store.count(index, value)).toBe(wanted.length);
        }
      }
    }),
  );
});

test("an object without a name cannot be cached, and the message says so", () => {
  expect(() => keyOf({ kind: "Pod", metadata: {} })).toThrow("kind Pod has no metadata.name");
});
