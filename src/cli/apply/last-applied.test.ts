import { describe, expect, test } from "vitest";
import type { ApiObject } from "#model/meta.ts";
import { lastAppliedAnnotation, lastAppliedTo, withLastApplied, withoutNulls } from "./last-applied.ts";

const object = { kind: "Widget", apiVersion: "v1", metadata: { name: "x" }, spec: { text: "<a>" } } as ApiObject;

describe("what was applied last", () => {
  test("is noted in the very form that kubectl notes it", () => {
    expect(withLastApplied(object).metadata.annotations).toEqual({
      [lastAppliedAnnotation]:
        '{"apiVersion":"v1","kind":"Widget","metadata":{"annotations":{},"name":"x"},"spec":{"text":"\\u003ca\\u003e"}}\n',
    });
  });

  test("does not contain itself, however often it is noted", () => {
    const once = withLastApplied({ ...object, metadata: { name: "x", annotations: { note: "y" } } });
    expect(withLastApplied(once)).toEqual(once);
    expect(once.metadata.annotations).toMatchObject({ note: "y" });
  });

  test("is found again on the object", () => {
    expect(lastAppliedTo(withLastApplied(object))).toEqual({ ...object, metadata: { name: "x", annotations: {} } });
  });

  test.each([undefined, "no JSON", "[]", "null", "3"])("is unknown when the annotation is %j", (text) => {
    const annotations = text === undefined ? {} : { [lastAppliedAnnotation]: text };
    expect(lastAppliedTo({ metadata: { annotations } })).toBeUndefined();
  });
});

test("a create leaves out what the file sets to null", () => {
  expect(withoutNulls({ a: null, b: { c: null, d: [1, { e: null }] } })).toEqual({ b: { d: [1, {}] } });
});
