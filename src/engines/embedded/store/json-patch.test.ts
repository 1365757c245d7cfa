import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonPatchOperation } from "#kube/object-client.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { Json, JsonObject } from "#model/meta.ts";
import { applyJsonPatch, JsonPatchError } from "./json-patch.ts";
import { copyJson, isJsonArray, isJsonObject } from "./json-tree.ts";

const document: JsonObject = deepFreeze({ a: 1, list: ["x", "y"], deep: { b: { c: true } }, "odd/key~": "z", nothing: null });

describe("a JSON patch", () => {
  test.for<[string, JsonPatchOperation, JsonObject]>([
    ["adds a field", { op: "add", path: "/d", value: 4 }, { d: 4 }],
    ["adds over a field", { op: "add", path: "/a", value: 4 }, { a: 4 }],
    ["inserts into a list", { op: "add", path: "/list/1", value: "n" }, { list: ["x", "n", "y"] }],
    ["inserts at the end of a list by number", { op: "add", path: "/list/2", value: "n" }, { list: ["x", "y", "n"] }],
    ["appends to a list", { op: "add", path: "/list/-", value: "n" }, { list: ["x", "y", "n"] }],
    ["counts from the end when it adds", { op: "add", path: "/list/-1", value: "n" }, { list: ["x", "y", "n"] }],
    ["replaces a field", { op: "replace", path: "/deep/b/c", value: 0 }, { deep: { b: { c: 0 } } }],
    ["replaces an item", { op: "replace", path: "/list/0", value: "n" }, { list: ["n", "y"] }],
    ["replaces the last item", { op: "replace", path: "/list/-1", value: "n" }, { list: ["x", "n"] }],
    ["removes an item", { op: "remove", path: "/list/0" }, { list: ["y"] }],
    ["moves", { op: "move", from: "/list/0", path: "/list/1" }, { list: ["y", "x"] }],
    ["copies", { op: "copy", from: "/deep/b", path: "/e" }, { e: { c: true } }],
    ["reads escaped keys", { op: "replace", path: "/odd~1key~0", value: 1 }, { "odd/key~": 1 }],
    ["tests whole values", { op: "test", path: "/deep", value: { b: { c: true } } }, {}],
    ["tests for null where nothing is", { op: "test", path: "/absent", value: null }, {}],
    ["tests for null where null is", { op: "test", path: "/nothing", value: null }, {}],
    ["tests the last item", { op: "test", path: "/list/-1", value: "y" }, {}],
    ["adds null", { op: "add", path: "/d", value: null }, { d: null }],
    ["adds an empty key", { op: "add", path: "/deep/", value: 1 }, { deep: { b: { c: true }, "": 1 } }],
  ])("%s", ([, operation, changes]) => {
    expect(applyJsonPatch(document, [operation])).toEqual({ ...document, ...changes });
  });

  test.for<[string, JsonPatchOperation]>([
    ["a test that does not hold", { op: "test", path: "/a", value: 2 }],
    ["a test for a value where nothing is", { op: "test", path: "/absent", value: 1 }],
    ["a test below nothing", { op: "test", path: "/absent/deeper", value: null }],
    ["replacing what is not there", { op: "replace", path: "/absent", value: 1 }],
    ["removing what is not there", { op: "remove", path: "/absent" }],
    ["adding below what is not there", { op: "add", path: "/absent/deeper", value: 1 }],
    ["adding below a number", { op: "add", path: "/a/b", value: 1 }],
    ["an index behind the end", { op: "add", path: "/list/3", value: 1 }],
    ["an index before the beginning", { op: "remove", path: "/list/-3" }],
    ["a word as an index", { op: "add", path: "/list/first", value: 1 }],
    ["a dash where there must be an item", { op: "remove", path: "/list/-" }],
    ["moving what is not there", { op: "move", from: "/absent", path: "/b" }],
    ["moving something into itself", { op: "move", from: "/deep", path: "/deep/b/d" }],
    ["copying what is not there", { op: "copy", from: "/absent", path: "/b" }],
    ["a path without a slash", { op: "remove", path: "a" }],
    ["removing everything", { op: "remove", path: "" }],
    ["something inherited", { op: "copy", from: "/toString", path: "/b" }],
  ])("refuses %s", ([, operation]) => {
    expect(() => applyJsonPatch(document, [operation])).toThrow(JsonPatchError);
  });

  test("replaces the whole document", () => {
    expect(applyJsonPatch(document, [{ op: "replace", path: "", value: { new: true } }])).toEqual({ new: true });
  });

  test("shares what it does not touch", () => {
    const patched = applyJsonPatch(document, [{ op: "add", path: "/list/-", value: 1 }]) as JsonObject;
    expect(patched["deep"]).toBe(document["deep"]);
  });

  test("leaves its document alone, and what it adds it can test and remove", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 1 }), fc.nat(), (start, added, choice) => {
        const frozen = deepFreeze(copyJson(start) as Json);
        const places = freePlaces(frozen, "");
        const path = places[choice % Math.max(1, places.length)];
        if (path === undefined) return;
        const value = copyJson(added) as Json;
        const before = JSON.stringify(frozen);
        const patched = applyJsonPatch(frozen, [
          { op: "add", path, value },
          { op: "test", path, value },
        ]);
        expect(JSON.stringify(frozen)).toBe(before);
        expect(applyJsonPatch(patched, [{ op: "remove", path }])).toEqual(JSON.parse(before));
      }),
    );
  });
});

/** Paths at which something can be added that is not there. */
function freePlaces(value: Json, path: string): string[] {
  if (isJsonArray(value)) return [`${path}/0`, ...value.flatMap((item, i) => freePlaces(item, `${path}/${i}`))];
  if (!isJsonObject(value)) return [];
  const below = Object.entries(value).flatMap(([key, own]) =>
    freePlaces(own, `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`),
  );
  return [`${path}/new-${Object.keys(value).length}`, ...below];
}

describe("a patch that would grow without end is refused before it is done:", () => {
  const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));

  test.for<[string, Json, readonly JsonPatchOperation[], string]>([
    [
      "copies that double what there is, forty times",
      { a: "x".repeat(1000) },
      times(40, (index) => ({ op: "copy", from: "", path: `/b${index}` })),
      "copies more than",
    ],
    [
      "one long text, many times",
      { a: "x".repeat(1_000_000) },
      times(100, (index) => ({ op: "copy", from: "/a", path: `/b${index}` })),
      "copies more than",
    ],
    ["too many operations", {}, times(10_001, () => ({ op: "add", path: "/a", value: 1 })), "at most 10000 operations"],
    [
      "a long list that is written anew for each of many items",
      { list: times(100_000, () => 0) },
      times(10_000, () => ({ op: "add", path: "/list/0", value: 1 })),
      "changes too much",
    ],
    [
      "a large object that is written anew for each of many fields",
      { map: Object.fromEntries(times(10_000, (index) => [`k${index}`, ""])) },
      times(10_000, (index) => ({ op: "add", path: `/map/n${index}`, value: 1 })),
      "changes too much",
    ],
  ])("%s", ([, from, operations, message]) => {
    expect(() => applyJsonPatch(from, operations)).toThrow(message);
  });

  test("what objects need is far below", () => {
    const from = { metadata: { annotations: Object.fromEntries(times(200, (index) => [`k${index}`, "v"])) } };
    const operations = times(5000, (index): JsonPatchOperation => ({
      op: "add",
      path: `/metadata/annotations/k${index % 200}`,
      value: "w",
    }));
    expect(Object.values((applyJsonPatch(from, operations) as typeof from).metadata.annotations)).toEqual(times(200, () => "w"));
  });
});
