import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { parseAllDocuments } from "yaml";
import { describe, expect, test } from "vitest";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { ApiObject, Json, JsonObject } from "#model/meta.ts";
import { allResourceTypes, customKinds } from "#model/kinds.ts";
import { isApiError } from "#kube/api-error.ts";
import { embeddedKindRules } from "./all-rules.ts";
import { asRecord } from "./json.ts";
import type { KindRules } from "./kind-rules.ts";
import { recorded } from "./recorded/replay.ts";

const allRules = embeddedKindRules();

test("every kind that AgentBox knows has rules", () => {
  expect(allRules.map((rules) => rules.resource.kind).sort()).toEqual(allResourceTypes.map((type) => type.kind).sort());
});

/** Objects that a server took, of the kinds that we have; enough of each kind to play with. */
const examples: Readonly<Record<string, readonly ApiObject[]>> = Object.groupBy(
  [...recorded("pods.jsonl"), ...recorded("kinds.jsonl")].map(({ object }) => object),
  ({ kind = "" }) => kind,
) as Record<string, ApiObject[]>;

const exampleFolder = new URL("../../../../deploy/examples/", import.meta.url);

/** The examples that users are given of our own kinds. */
const ours: readonly ApiObject[] = readdirSync(exampleFolder)
  .filter((file) => file.endsWith(".yaml"))
  .flatMap((file) => parseAllDocuments(readFileSync(new URL(file, exampleFolder), "utf8")).map((document) => document.toJS() as ApiObject));

const json: fc.Arbitrary<Json> = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>;

/** An example with something random put somewhere in it. */
function mutated(object: ApiObject): fc.Arbitrary<ApiObject> {
  const places = placesIn(asRecord(object) as JsonObject);
  return fc
    .tuple(fc.constantFrom(...places), json)
    .map(([place, value]) => replaced(asRecord(object) as JsonObject, place, value) as unknown as ApiObject);
}

function placesIn(value: Json, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return path.length === 0 ? [] : [path];
  return [...(path.length === 0 ? [] : [path]), ...Object.entries(value).flatMap(([key, child]) => placesIn(child, [...path, key]))];
}

function replaced(value: Json, [key = "", ...rest]: readonly string[], by: Json): Json {
  const child = asRecord(value as object)[key] as Json;
  const next = rest.length === 0 ? by : replaced(child, rest, by);
  if (Array.isArray(value)) return value.map((item: Json, index) => (String(index) === key ? next : item));
  return { ...(value as JsonObject), [key]: next };
}

function examplesOf({ resource: { kind } }: KindRules): readonly ApiObject[] {
  return examples[kind] ?? ours.filter((object) => object.kind === kind);
}

/** What normalize makes of the object, or undefined if it cannot be read at all. */
function normal(rules: KindRules, object: ApiObject): ApiObject | undefined {
  try {
    return rules.normalize(deepFreeze(object)).object;
  } catch (error) {
    if (isApiError(error, "BadRequest")) return undefined;
    throw error;
  }
}

/** The object as it would be stored, or undefined if it is refused. */
function taken(rules: KindRules, object: ApiObject): ApiObject | undefined {
  const once = normal(rules, object);
  if (once === undefined) return undefined;
  const place = rules.resource.namespaced ? { namespace: "default" } : {};
  try {
    const prepared = rules.prepareForCreate(deepFreeze({ ...once, metadata: { name: "n", ...once.metadata, uid: "u", ...place } }));
    return rules.validateCreate(deepFreeze(prepared)).length === 0 ? prepared : undefined;
  } catch (error) {
    if (isApiError(error, "Forbidden")) return undefined;
    throw error;
  }
}

test.each(customKinds.map(({ resource }) => resource.kind))("the examples of %s are taken, and keep all that they say", (kind) => {
  const rules = allRules.find(({ resource }) => resource.kind === kind);
  const given = ours.filter((object) => object.kind === kind);
  expect(given).not.toEqual([]);
  for (const object of given) expect(rules && taken(rules, object)).toMatchObject(object);
});

describe.each(allRules.map((rules) => ({ kind: rules.resource.kind, rules })))("whatever a $kind says", ({ rules }) => {
  const anyObject = fc.constantFrom(...examplesOf(rules)).chain(mutated);

  test("it is read or refused, and reading it again changes nothing", () => {
    fc.assert(
      fc.property(anyObject, (object) => {
        const once = normal(rules, object);
        if (once === undefined) return;
        const twice = rules.normalize(deepFreeze(once));
        expect(twice.object).toEqual(once);
        expect(twice.unknownFields).toEqual([]);
      }),
    );
  });

  test("what is in its final form already is shared, not copied", () => {
    fc.assert(
      fc.property(anyObject, (object) => {
        const once = normal(rules, object);
        if (once === undefined) return;
        const again = asRecord(rules.normalize(deepFreeze(once)).object);
        const { metadata: _metadata, ...rest } = once;
        for (const [key, value] of Object.entries(rest)) expect(again[key]).toBe(value);
      }),
    );
  });

  test("it is judged without being changed, and once it is taken, an update that changes nothing is too", () => {
    fc.assert(
      fc.property(anyObject, (object) => {
        const stored = taken(rules, object);
        if (stored === undefined) return;
        for (const subresource of ["main", "status"] as const) {
          const next = rules.prepareForUpdate(stored, stored, subresource);
          expect(rules.validateUpdate(deepFreeze(next), stored, subresource)).toEqual([]);
        }
      }),
    );
  });
});

test("the fields that objects are selected by do not depend on the object", () => {
  for (const rules of allRules) {
    const keys = Object.keys(rules.selectableFields({ metadata: {} }));
    expect(keys).toContain("metadata.name");
    const readable = examplesOf(rules).flatMap((example) => normal(rules, example) ?? []);
    for (const object of readable) expect(Object.keys(rules.selectableFields(object))).toEqual(keys);
  }
});
