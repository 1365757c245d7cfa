import { describe, expect, test } from "vitest";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { syncAnnotationsFromTemplate, syncLabelsFromTemplate } from "./sync-from-template.ts";

describe("a pool's labels", () => {
  test("get the template's, which go before its own", () => {
    expect(syncLabelsFromTemplate({ a: "pool", b: "pool" }, { b: "template", c: "template" })).toEqual({
      a: "pool",
      b: "template",
      c: "template",
    });
  });

  test.for([labelKeys.syncSource, labelKeys.team, labelKeys.user, labelKeys.env, labelKeys.scalingGroup, labelKeys.managedBy])(
    "do not get %s, which says something about the template",
    (key) => {
      expect(syncLabelsFromTemplate({ [key]: "pool" }, { [key]: "template" })).toEqual({ [key]: "pool" });
      expect(syncLabelsFromTemplate(undefined, { [key]: "template" })).toEqual({});
    },
  );
});

describe("a pool's annotations", () => {
  test("get the template's, which go before its own", () => {
    expect(syncAnnotationsFromTemplate({ a: "pool" }, { a: "template", b: "template" })).toEqual({ a: "template", b: "template" });
  });

  test.for([
    annotationKeys.docs,
    annotationKeys.poolDocs,
    annotationKeys.templateName,
    annotationKeys.templateVersion,
    annotationKeys.overrides,
    annotationKeys.lastSandboxCreateTime,
    "kubectl.kubernetes.io/last-applied-configuration",
  ])("do not get %s", (key) => {
    expect(syncAnnotationsFromTemplate({ [key]: "pool" }, { [key]: "template" })).toEqual({ [key]: "pool" });
    expect(syncAnnotationsFromTemplate({}, { [key]: "template" })).toEqual({});
  });
});

test("nothing to take over leaves a pool as it is, and nothing given is changed", () => {
  const pool = Object.freeze({ a: "1" });
  const template = Object.freeze({ a: "2" });
  expect(syncLabelsFromTemplate(pool, undefined)).toEqual({ a: "1" });
  expect(syncAnnotationsFromTemplate(undefined, undefined)).toEqual({});
  expect(syncLabelsFromTemplate(pool, template)).toEqual({ a: "2" });
  expect([pool, template]).toEqual([{ a: "1" }, { a: "2" }]);
});
