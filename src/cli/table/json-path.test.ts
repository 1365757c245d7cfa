import { describe, expect, test } from "vitest";
import { customKinds } from "#model/kinds.ts";
import { compileJsonPath } from "./json-path.ts";

const object = {
  metadata: { name: "x", labels: { "app.kubernetes.io/name": "web" } },
  spec: {
    replicas: 3,
    on: false,
    list: [
      { name: "a", n: 1 },
      { name: "b", n: 2 },
    ],
  },
  status: {
    conditions: [
      { type: "Available", status: "False" },
      { type: "Ready", status: "True", observedGeneration: 4 },
    ],
  },
};

describe("a JSONPath", () => {
  test.each([
    [".spec.replicas", 3],
    ["$.spec.replicas", 3],
    [".spec.on", false],
    [".spec.list[1].name", "b"],
    [".spec.list[-1].name", "b"],
    [".spec.list[*].name", "a"],
    [".metadata.labels.app\\.kubernetes\\.io/name", "web"],
    [".metadata.labels['app.kubernetes.io/name']", "web"],
    [".metadata['labels'][\"app.kubernetes.io/name\"]", "web"],
    ['.status.conditions[?(@.type=="Ready")].status', "True"],
    [".status.conditions[?(@.type == 'Ready')].status", "True"],
    ['.status.conditions[?(@.type!="Ready")].status', "False"],
    [".status.conditions[?(@.observedGeneration==4)].type", "Ready"],
    [".spec.list[0]", { name: "a", n: 1 }],
    [".", object],
  ])("%s finds its value", (path, value) => {
    expect(compileJsonPath(path)(object)).toEqual(value);
  });

  test.each([
    ".spec.nothing",
    ".spec.replicas.deeper",
    ".spec.list.name",
    ".spec.list[7]",
    '.status.conditions[?(@.type=="Other")].status',
    ".spec[0]",
  ])("%s finds nothing", (path) => {
    expect(compileJsonPath(path)(object)).toBeUndefined();
  });

  test("that cannot be read is refused with the place", () => {
    expect(() => compileJsonPath(".a[?(@.b)]")).toThrow('cannot read the JSONPath .a[?(@.b)] at "[?(@.b)]"');
  });

  test("of every printer column of our kinds can be read", () => {
    const paths = customKinds.flatMap((kind) => kind.printerColumns.map((column) => column.jsonPath));
    expect(paths.length).toBeGreaterThan(10);
    for (const path of paths) expect(compileJsonPath(path)({})).toBeUndefined();
  });
});
