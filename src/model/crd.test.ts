import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { crdFileName, crdYaml, customResourceDefinition } from "./crd.ts";
import { customKinds } from "./kinds.ts";
import { sandboxPoolKind } from "./sandbox-pool.ts";
import type { StructuralSchema } from "./structural-schema.ts";

const folder = new URL("../../deploy/crds/", import.meta.url);

describe("deploy/crds", () => {
  test("holds one file per kind and nothing else", () => {
    expect(readdirSync(folder).sort()).toEqual(customKinds.map(crdFileName).sort());
  });

  test.each(customKinds.map((kind) => [crdFileName(kind), kind] as const))(
    "%s is what the model says now (else run: node tools/generate-crds.ts)",
    (file, kind) => {
      expect(readFileSync(new URL(file, folder), "utf8")).toBe(crdYaml(kind));
    },
  );
});

describe("a definition", () => {
  test("survives its YAML form", () => {
    for (const kind of customKinds) expect(parse(crdYaml(kind))).toEqual(JSON.parse(JSON.stringify(customResourceDefinition(kind))));
  });

  test("does not depend on when or how often it is printed", () => {
    for (const kind of customKinds) expect(crdYaml(kind)).toBe(crdYaml(kind));
  });

  test("of the pool has status and scale subresources", () => {
    const [version] = customResourceDefinition(sandboxPoolKind).spec.versions;
    expect(version?.subresources).toEqual({
      status: {},
      scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas", labelSelectorPath: ".status.selector" },
    });
  });

  test("ends its columns with the age", () => {
    for (const kind of customKinds) expect(kind.printerColumns.at(-1)).toMatchObject({ name: "Age", type: "date" });
  });
});

describe("every schema", () => {
  const fields = customKinds.flatMap((kind) => fieldsOf(kind.schema, kind.resource.kind));

  test("explains each of its fields, so that kubectl explain has something to say", () => {
    const silent = fields.filter(({ path, schema }) => schema.description === undefined && !explainedByItsName(path));
    expect(silent.map(({ path }) => path)).toEqual([]);
  });

  test("gives every value a type, as structural schemas must", () => {
    const untyped = fields.filter(({ schema }) => schema.type === undefined && schema["x-kubernetes-int-or-string"] !== true);
    expect(untyped.map(({ path }) => path)).toEqual([]);
  });

  test("requires the key of each list that has one", () => {
    const keyed = fields.filter(({ schema }) => schema["x-kubernetes-list-type"] === "map");
    const loose = keyed.filter(
      ({ schema }) => !schema["x-kubernetes-list-map-keys"]?.every((key) => schema.items?.required?.includes(key)),
    );
    expect(keyed.length).toBeGreaterThan(0);
    expect(loose.map(({ path }) => path)).toEqual([]);
  });

  test("has patterns that JavaScript and the API server read alike: anchored, without look-around or back-references", () => {
    const patterns = new Set(fields.flatMap(({ schema }) => schema.pattern ?? []));
    for (const pattern of patterns) {
      expect(pattern).toMatch(/^\^.*\$$/);
      expect(pattern).not.toMatch(/\(\?|\\[1-9]/);
    }
  });

  test("says in words what each rule wants", () => {
    const rules = fields.flatMap(({ schema }) => schema["x-kubernetes-validations"] ?? []);
    expect(rules.filter(({ message }) => message === undefined)).toEqual([]);
  });
});

interface Field {
  readonly path: string;
  readonly schema: StructuralSchema;
}

function fieldsOf(schema: StructuralSchema, path: string): Field[] {
  const below = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => fieldsOf(property, `${path}.${name}`));
  const items = schema.items === undefined ? [] : fieldsOf(schema.items, `${path}[]`);
  const values = schema.additionalProperties === undefined ? [] : fieldsOf(schema.additionalProperties, `${path}{}`);
  return [{ path, schema }, ...below, ...items, ...values];
}

/** Entries of lists and maps are explained by the list, metadata is the same for all kinds, and a probe's fields say what it does. */
function explainedByItsName(path: string): boolean {
  return /(\]|\}|\.metadata(\.\w+)?|\.(exec|grpc|httpGet|tcpSocket))$/.test(path);
}
