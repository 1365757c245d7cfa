import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { Json, JsonObject } from "#model/meta.ts";
import { copyJson, equalJson, isJsonObject } from "./json-tree.ts";
import { applyMergePatch } from "./merge-patch.ts";

describe("a merge patch", () => {
  test.for<[string, Json, Json, Json]>([
    ["sets a field", { a: 1 }, { b: 2 }, { a: 1, b: 2 }],
    ["replaces a field", { a: 1 }, { a: 2 }, { a: 2 }],
    ["removes a field with null", { a: 1, b: 2 }, { a: null }, { b: 2 }],
    ["leaves out what is null and was not there", { a: 1 }, { b: null }, { a: 1 }],
    ["goes into objects", { a: { b: 1, c: 2 } }, { a: { b: 3 } }, { a: { b: 3, c: 2 } }],
    ["replaces lists as a whole", { a: [1, 2] }, { a: [3] }, { a: [3] }],
    ["replaces a list by an object", { a: [1] }, { a: { b: 1 } }, { a: { b: 1 } }],
    ["replaces an object by a number", { a: { b: 1 } }, { a: 5 }, { a: 5 }],
    ["makes objects where there were none, without nulls", {}, { a: { b: { c: null, d: 1 } } }, { a: { b: { d: 1 } } }],
    ["takes nulls out of objects in lists, but leaves null items", {}, { a: [{ b: null, c: 1 }, null] }, { a: [{ c: 1 }, null] }],
  ])("%s", ([, document, patch, result]) => {
    expect(applyMergePatch(deepFreeze(document), deepFreeze(patch))).toEqual(result);
  });

  test("shares what it does not touch", () => {
    const document = deepFreeze({ metadata: { labels: { a: "1" } }, spec: { big: [1, 2, 3] } });
    const patched = applyMergePatch(document, { metadata: { labels: { a: "2" } } }) as JsonObject;
    expect(patched["spec"]).toBe(document.spec);
  });

  test("says the same when it is said twice, and leads from any document to any other without nulls", () => {
    const document = fc.dictionary(fc.constantFrom("a", "b", "c"), fc.jsonValue({ maxDepth: 2 }), { noNullPrototype: true });
    fc.assert(
      fc.property(document, document, (from, to) => {
        const [before, wanted] = [withoutNulls(copyJson(from) as Json), withoutNulls(copyJson(to) as Json)];
        const patch = difference(before, wanted);
        const once = applyMergePatch(deepFreeze(before), patch);
        expect(once).toEqual(wanted);
        expect(applyMergePatch(once, patch)).toEqual(once);
      }),
    );
  });
});

function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => withoutNulls(item));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, own]) => own !== null)
      .map(([key, own]) => [key, withoutNulls(own)]),
  );
}

/** The patch that leads from one document to another. */
function difference(from: Json | undefined, to: Json): Json {
  if (!isJsonObject(to) || !isJsonObject(from)) return to;
  const removed = Object.keys(from).filter((key) => !Object.hasOwn(to, key));
  const changed = Object.keys(to).filter((key) => !equalJson(from[key], to[key]));
  return Object.fromEntries<Json>([
    ...removed.map((key) => [key, null] as const),
    ...changed.map((key) => [key, difference(from[key], to[key] ?? null)] as const),
  ]);
}
