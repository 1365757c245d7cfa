import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "#model/meta.ts";
import { Pods } from "#model/pod.ts";
import { listKeysOf } from "./list-keys.ts";
import { threeWayMergePatch } from "./three-way-merge.ts";

describe("the patch", () => {
  const cases: readonly [string, JsonObject, JsonObject, JsonObject, JsonObject][] = [
    ["sets what the file has and the server has not", {}, { a: 1, b: { c: 2 } }, {}, { a: 1, b: { c: 2 } }],
    ["changes what differs and nothing else", { a: 1, b: 2 }, { a: 1, b: 3 }, { a: 1, b: 2, d: 9 }, { b: 3 }],
    ["is empty when the server has it all", { a: 1 }, { a: 1, b: { c: [1] } }, { a: 1, b: { c: [1], d: 2 } }, {}],
    [
      "removes what was applied and is gone from the file",
      { a: 1, b: { c: 1, d: 1 } },
      { b: { c: 1 } },
      { a: 1, b: { c: 1, d: 1, e: 1 } },
      { a: null, b: { d: null } },
    ],
    ["does not remove what is gone already", { a: 1 }, {}, {}, {}],
    ["leaves what others have set", {}, { a: 1 }, { a: 1, b: 2 }, {}],
    ["takes back what others have changed", { a: 1 }, { a: 1 }, { a: 5 }, { a: 1 }],
    ["replaces lists as a whole", { l: [1, 2] }, { l: [1] }, { l: [1, 2, 3] }, { l: [1] }],
    ["replaces a value by a map and a map by a value", {}, { a: { b: 1 }, c: 1 }, { a: 1, c: { d: 1 } }, { a: { b: 1 }, c: 1 }],
    ["keeps an empty map", {}, { a: {} }, {}, { a: {} }],
    ["removes what the file sets to null", {}, { a: null }, { a: 1 }, { a: null }],
    ["does not remove it again: it may be the server's default", { a: null }, { a: null }, { a: 1 }, {}],
    ["leaves out nulls inside what is new", {}, { a: { b: null, c: 1 } }, {}, { a: { c: 1 } }],
  ];

  test.each(cases)("%s", (_fact, ...[original, modified, current, patch]) => {
    expect(threeWayMergePatch({ original, modified, current })).toEqual(patch);
  });

  const key = fc.constantFrom("a", "b", "c", "d");
  const leaf = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.boolean(), fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 2 }));
  const map = fc.letrec<{ map: JsonObject; value: Json }>((tie) => ({
    map: fc.dictionary(key, tie("value"), { maxKeys: 4, depthIdentifier: "map" }),
    value: fc.oneof({ maxDepth: 3, depthIdentifier: "map" }, leaf, tie("map")),
  })).map;

  test("brings any object to what the file says", () => {
    fc.assert(
      fc.property(map, map, map, (original, modified, current) => {
        expect(merge(current, threeWayMergePatch({ original, modified, current }))).toMatchObject(modified);
      }),
    );
  });

  test("is empty when it is applied a second time", () => {
    fc.assert(
      fc.property(map, map, map, (original, modified, current) => {
        const after = merge(current, threeWayMergePatch({ original, modified, current })) as JsonObject;
        expect(threeWayMergePatch({ original: modified, modified, current: after })).toEqual({});
      }),
    );
  });

  test("touches only fields that the file has or had", () => {
    fc.assert(
      fc.property(map, map, map, (original, modified, current) => {
        const touched = Object.keys(threeWayMergePatch({ original, modified, current }));
        expect(touched.filter((field) => !(field in original) && !(field in modified))).toEqual([]);
      }),
    );
  });
});

describe("lists of pods", () => {
  const patch = (original: JsonObject, modified: JsonObject, current: JsonObject): JsonObject =>
    threeWayMergePatch({ original, modified, current, listKeys: listKeysOf(Pods) });

  test("keep what the server filled into an item", () => {
    const file = { spec: { containers: [{ name: "a", image: "x:1" }] } };
    const stored = { spec: { containers: [{ name: "a", image: "x:1", terminationMessagePath: "/dev/termination-log" }] } };
    expect(patch(file, file, stored)).toEqual({});
    const changed = { spec: { containers: [{ name: "a", image: "x:2" }] } };
    expect(patch(file, changed, stored)).toEqual({
      spec: { containers: [{ name: "a", image: "x:2", terminationMessagePath: "/dev/termination-log" }] },
    });
  });

  test("keep items of others, drop items that the file had, and take in new ones", () => {
    const before = { spec: { volumes: [{ name: "old" }, { name: "kept" }] } };
    const after = { spec: { volumes: [{ name: "kept" }, { name: "new" }] } };
    const stored = { spec: { volumes: [{ name: "injected" }, { name: "old" }, { name: "kept" }] } };
    expect(patch(before, after, stored)).toEqual({ spec: { volumes: [{ name: "injected" }, { name: "kept" }, { name: "new" }] } });
  });

  test("merge lists inside items", () => {
    const file = (value: string): JsonObject => ({ spec: { containers: [{ name: "a", env: [{ name: "A", value }] }] } });
    const stored = {
      spec: {
        containers: [
          {
            name: "a",
            env: [
              { name: "INJECTED", value: "1" },
              { name: "A", value: "1" },
            ],
          },
        ],
      },
    };
    expect(patch(file("1"), file("2"), stored)).toEqual({
      spec: {
        containers: [
          {
            name: "a",
            env: [
              { name: "INJECTED", value: "1" },
              { name: "A", value: "2" },
            ],
          },
        ],
      },
    });
  });

  test("remove a field of an item that the file had", () => {
    const before = { spec: { containers: [{ name: "a", image: "x", args: ["1"] }] } };
    const after = { spec: { containers: [{ name: "a", image: "x" }] } };
    expect(patch(before, after, before)).toEqual({ spec: { containers: [{ name: "a", image: "x" }] } });
  });

  test("of plain values keep those of others", () => {
    const stored = { metadata: { finalizers: ["theirs", "ours"] } };
    expect(patch({ metadata: { finalizers: ["ours"] } }, { metadata: { finalizers: [] } }, stored)).toEqual({
      metadata: { finalizers: ["theirs"] },
    });
  });
});

/** RFC 7386. */
function merge(target: Json | undefined, patch: Json): Json {
  if (!isMap(patch)) return patch;
  const result: Record<string, Json> = isMap(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merge(result[key], value);
  }
  return result;
}

function isMap(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
