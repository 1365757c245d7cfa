import fc from "fast-check";
import { expect, test } from "vitest";
import { deepFreeze } from "#lib/deep-freeze.ts";
import { dropped, jsonEqual, mapList, mapRecord, shared, withProperties } from "./json.ts";

const hostile = JSON.parse('{"__proto__": 1, "constructor": 2}') as Record<string, unknown>;

test("values are equal when they say the same, in any order of keys", () => {
  expect(jsonEqual({ a: [1, { b: null }], c: "x" }, { c: "x", a: [1, { b: null }] })).toBe(true);
  expect(jsonEqual({ a: 1 }, { a: 1, b: 2 })).toBe(false);
  expect(jsonEqual({ a: undefined }, { b: undefined })).toBe(false);
  expect(jsonEqual([1, 2], [2, 1])).toBe(false);
  expect(jsonEqual([], {})).toBe(false);
  expect(jsonEqual(null, {})).toBe(false);
  expect(jsonEqual({ constructor: 1 }, { x: 1 })).toBe(false);
});

test("a value equals its copy, and not the value with something added", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      expect(jsonEqual(value, structuredClone(value))).toBe(true);
      expect(jsonEqual(value, { ...value, "something more": 1 })).toBe(false);
      expect(jsonEqual([value], [value, value])).toBe(false);
    }),
  );
});

test("a mapping that changes nothing gives back the same record", () => {
  const record = deepFreeze({ a: 1, b: 2 });
  expect(mapRecord(record, (value) => value)).toBe(record);
  expect(mapRecord(record, (value, key) => (key === "a" ? dropped : value))).toEqual({ b: 2 });
  expect(mapRecord(record, (value) => Number(value) + 1)).toEqual({ a: 2, b: 3 });
});

test("a property that is undefined is none", () => {
  expect(Object.keys(mapRecord({ a: undefined, b: 1 }, (value) => value))).toEqual(["b"]);
});

test("a mapping of a list likewise", () => {
  const list = deepFreeze([1, 2, 3]);
  expect(mapList(list, (item) => item)).toBe(list);
  expect(mapList(list, (item) => (item === 2 ? 5 : item))).toEqual([1, 5, 3]);
});

test("keys that mean something to JavaScript are keys like others", () => {
  const mapped = mapRecord(hostile, (value) => Number(value) + 1);
  expect(Object.entries(mapped)).toEqual([
    ["__proto__", 2],
    ["constructor", 3],
  ]);
  expect(Object.getPrototypeOf(mapped)).toBe(Object.prototype);
});

test("properties that are there already make no copy", () => {
  const record = deepFreeze({ a: 1, b: { c: 2 } });
  expect(withProperties(record, { a: 1, d: undefined })).toBe(record);
  expect(withProperties(record, { a: 2 })).toEqual({ a: 2, b: { c: 2 } });
  expect(withProperties(record, { a: 2 }).b).toBe(record.b);
  expect(Object.keys(withProperties(record, { a: undefined }))).toEqual(["b"]);
});

test("what says the same as the stored value is the stored value", () => {
  const stored = { a: [1] };
  expect(shared({ a: [1] }, stored)).toBe(stored);
  expect(shared({ a: [2] }, stored)).toEqual({ a: [2] });
});
