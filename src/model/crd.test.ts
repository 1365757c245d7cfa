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

  test.each(customKinds.map((kind) => [crdFileName(kind), kind] as const))("%s is what the model says now", (file, kind) => {
    expect(readFileSync(new URL(file, folder), "utf8"), "run: node tools/generate-crds.ts").toBe(crdYaml(kind));
  });
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
    for (const { path, schema } of fields) {
      const keys = schema["x-kubernetes-list-map-keys"] ?? [];
      for (const key of keys) expect(schema.items?.required, path).toContain(key);
    }
  });

  test("has patterns that JavaScript and the API server read alike: anchored, without look-around or back-references", () => {
    for (const { path, schema } of fields) {
      if (schema.pattern === undefined) continue;
      expect(schema.pattern, path).toMatch(/^\^.*\$$/);
      expect(schema.pattern, path).not.toMatch(/\(\?|\\[1-9]/);
    }
  });

  test("says in words what each rule wants", () => {
    for (const { path, schema } of fields) {
      for (const rule of schema["x-kubernetes-validations"] ?? []) expect(rule.message, path).toBeTruthy();
    }
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

/** Entries of lists and maps are explained by the list; metadata is everybody's; and what a probe does is in its fields. */
function explainedByItsName(path: string): boolean {
  return /(\]|\}|\.metadata(\.\w+)?|\.(exec|grpc|httpGet|tcpSocket))$/.test(path);
}
