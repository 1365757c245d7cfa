import fc from "fast-check";
import { expect, test } from "vitest";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { Json } from "#model/meta.ts";
import { copyJson, equalJson, shareStructure } from "./json-tree.ts";

const json = fc.jsonValue({ maxDepth: 3 }).map((value) => copyJson(value) as Json);

test("equal means equal as JSON, whatever the order of fields", () => {
  expect(equalJson({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 })).toBe(true);
  expect(equalJson({ a: 1 }, { a: 1, b: 2 })).toBe(false);
  expect(equalJson({ a: 1 }, { b: 1 })).toBe(false);
  expect(equalJson([1, 2], [2, 1])).toBe(false);
  expect(equalJson([], {})).toBe(false);
  expect(equalJson({ a: null }, {})).toBe(false);
});

test("sharing gives the wanted value, made of what was there before", () => {
  const previous = deepFreeze({ metadata: { labels: { a: "1" } }, spec: { list: [{ x: 1 }, { y: 2 }], deep: { z: 3 } } });
  const next = copyJson({ ...previous, spec: { ...previous.spec, list: [{ x: 1 }, { y: 9 }] } });
  const shared = shareStructure(previous, next) as typeof previous;
  expect(shared).toEqual(next);
  expect(shared.metadata).toBe(previous.metadata);
  expect(shared.spec.deep).toBe(previous.spec.deep);
  expect(shared.spec.list[0]).toBe(previous.spec.list[0]);
  expect(shared.spec.list[1]).not.toBe(previous.spec.list[1]);
});

test("sharing with an equal value gives the previous one itself, and never another value than the wanted one", () => {
  fc.assert(
    fc.property(json, json, (previous, next) => {
      deepFreeze(previous);
      expect(shareStructure(previous, copyJson(previous))).toBe(previous);
      const shared = shareStructure(previous, next);
      expect(JSON.parse(JSON.stringify(shared))).toEqual(JSON.parse(JSON.stringify(next)));
      expect(shared === previous).toBe(equalJson(previous, next));
    }),
  );
});

test("a field named __proto__ is a field like any other", () => {
  const next = JSON.parse('{"__proto__":{"polluted":true},"a":1}') as Json;
  const shared = shareStructure({ a: 1 }, next);
  expect(JSON.stringify(shared)).toBe('{"__proto__":{"polluted":true},"a":1}');
  expect("polluted" in Object(shared)).toBe(false);
});
