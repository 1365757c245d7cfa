import { describe, expect, test } from "vitest";
import type { ObjectMeta } from "#model/meta.ts";
import { Causes } from "./causes.ts";
import { metadataFields, type MetadataRules, validateMetadata, validateMetadataUpdate } from "./metadata-rules.ts";
import { dnsSubdomainMistakes } from "#model/names.ts";

const ours: MetadataRules = { namespaced: true, nameMistakes: dnsSubdomainMistakes, qualifiedFinalizers: false };
const builtIn: MetadataRules = { ...ours, qualifiedFinalizers: true };
const cluster: MetadataRules = { ...ours, namespaced: false };
const sound: ObjectMeta = { name: "pool", namespace: "team", uid: "u", labels: { a: "b" } };

function onCreate(metadata: ObjectMeta, rules = ours): readonly string[] {
  const causes = new Causes();
  validateMetadata(rules, metadata, causes);
  return causes.all.map(({ field, reason }) => `${field} ${reason}`);
}

function onUpdate(next: ObjectMeta, current: ObjectMeta, rules = ours): readonly string[] {
  const causes = new Causes();
  validateMetadataUpdate(rules, next, current, causes);
  return causes.all.map(({ field, reason }) => `${field} ${reason}`);
}

describe("new metadata", () => {
  test("that says nothing wrong is fine", () => {
    expect(onCreate(sound)).toEqual([]);
  });

  test("has a namespace if the kind has namespaces, and only then", () => {
    expect(onCreate({ name: "pool" })).toEqual(["metadata.namespace FieldValueRequired"]);
    expect(onCreate({ name: "pool", namespace: "Team" })).toEqual(["metadata.namespace FieldValueInvalid"]);
    expect(onCreate({ name: "template" }, cluster)).toEqual([]);
    expect(onCreate({ name: "template", namespace: "team" }, cluster)).toEqual(["metadata.namespace FieldValueForbidden"]);
  });

  test("has at most 256 KiB of annotations, keys and values together", () => {
    const limit = 256 * 1024;
    expect(onCreate({ ...sound, annotations: { key: "x".repeat(limit - 3) } })).toEqual([]);
    expect(onCreate({ ...sound, annotations: { key: "x".repeat(limit - 2) } })).toEqual(["metadata.annotations FieldValueTooLong"]);
    expect(onCreate({ ...sound, annotations: { key: "é".repeat(limit / 2) } })).toEqual(["metadata.annotations FieldValueTooLong"]);
  });

  test("takes any finalizer for our kinds, and those of a domain for the others", () => {
    const finalizers = ["ours", "agentbox.navix.sh/sandbox-protection", "orphan"];
    expect(onCreate({ ...sound, finalizers })).toEqual([]);
    expect(onCreate({ ...sound, finalizers }, builtIn)).toEqual(["metadata.finalizers[0] FieldValueInvalid"]);
  });

  test("names the one owner that is in charge", () => {
    const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" };
    expect(onCreate({ ...sound, ownerReferences: [{ ...owner, controller: true }, owner] })).toEqual([]);
    const two = [
      { ...owner, controller: true },
      { ...owner, name: "q", controller: true },
    ];
    expect(onCreate({ ...sound, ownerReferences: two })).toEqual(["metadata.ownerReferences FieldValueInvalid"]);
  });
});

describe("metadata of an update", () => {
  test("may change labels, annotations, owners and finalizers", () => {
    const changed = { ...sound, labels: { c: "d" }, annotations: { e: "f" }, finalizers: ["x.y/z"] };
    expect(onUpdate(changed, sound)).toEqual([]);
  });

  test("may not change what identifies the object", () => {
    expect(onUpdate({ ...sound, name: "other", namespace: "else", uid: "v" }, sound)).toEqual([
      "metadata.name FieldValueInvalid",
      "metadata.namespace FieldValueInvalid",
      "metadata.uid FieldValueInvalid",
    ]);
  });

  test("cannot mark the object as deleted, and does not matter to one that is", () => {
    const deleted = { ...sound, deletionTimestamp: "2020-01-01T00:00:00Z", deletionGracePeriodSeconds: 0 };
    expect(onUpdate({ ...sound, deletionTimestamp: "2021-01-01T00:00:00Z" }, sound)).toEqual([
      "metadata.deletionTimestamp FieldValueInvalid",
    ]);
    expect(onUpdate({ ...deleted, deletionTimestamp: "2021-01-01T00:00:00Z" }, deleted)).toEqual([]);
    expect(onUpdate({ ...deleted, deletionGracePeriodSeconds: 5 }, deleted)).toEqual([
      "metadata.deletionGracePeriodSeconds FieldValueInvalid",
    ]);
  });

  test("takes finalizers from a deleted object, but adds none", () => {
    const deleted = { ...sound, deletionTimestamp: "2020-01-01T00:00:00Z", finalizers: ["x.y/a", "x.y/b"] };
    expect(onUpdate({ ...deleted, finalizers: ["x.y/b"] }, deleted)).toEqual([]);
    expect(onUpdate({ ...deleted, finalizers: ["x.y/b", "x.y/c"] }, deleted)).toEqual(["metadata.finalizers FieldValueForbidden"]);
  });

  test("is not held against what was stored before a rule was there", () => {
    const old = { ...sound, labels: { a: "-" }, finalizers: ["nope"] };
    expect(onUpdate({ ...old, labels: { a: "-" }, annotations: { x: "y" } }, old, builtIn)).toEqual([]);
    expect(onUpdate({ ...old, labels: { a: "-", b: "c" } }, old, builtIn)).toEqual(["metadata.labels FieldValueInvalid"]);
  });
});

test("objects are selected by name, and by namespace if they have one", () => {
  expect(metadataFields({ namespaced: true }, sound)).toEqual({ "metadata.name": "pool", "metadata.namespace": "team" });
  expect(metadataFields({ namespaced: false }, sound)).toEqual({ "metadata.name": "pool" });
  expect(metadataFields({ namespaced: true }, {})).toEqual({ "metadata.name": "", "metadata.namespace": "" });
});
