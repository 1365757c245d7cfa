import { describe, expect, test } from "vitest";
import { factsOf, sourcesOf, type Written } from "../../../../../../test/world/rendered-container.ts";
import { containerVariables } from "./environment.ts";

function variables(written: Written): Record<string, string> {
  const { container, ...facts } = factsOf(written);
  return Object.fromEntries(containerVariables(facts, container, sourcesOf(written)));
}

test("a value may use variables that stand before it, and no others", () => {
  const env = [
    { name: "HOST", value: "db" },
    { name: "URL", value: "tcp://$(HOST):$(PORT)" },
    { name: "PORT", value: "5432" },
  ];
  expect(variables({ container: { env } })).toEqual({ HOST: "db", URL: "tcp://db:$(PORT)", PORT: "5432" });
});

test("whole objects come first, in order, and single variables go before them", () => {
  const container = {
    envFrom: [{ configMapRef: { name: "base" } }, { prefix: "S_", secretRef: { name: "more" } }],
    env: [
      { name: "MODE", value: "mine" },
      { name: "USES", value: "$(S_TOKEN)" },
    ],
  };
  const written = { container, configMaps: { base: { MODE: "base", LEVEL: "3" } }, secrets: { more: { TOKEN: "t" } } };
  expect(variables(written)).toEqual({ MODE: "mine", LEVEL: "3", S_TOKEN: "t", USES: "t" });
});

test("a key that cannot be a variable is left out", () => {
  const container = { envFrom: [{ configMapRef: { name: "c" } }] };
  expect(variables({ container, configMaps: { c: { "a=b": "1", ä: "2", "a.b": "3" } } })).toEqual({ "a.b": "3" });
});

test("what a secret says is not expanded", () => {
  const env = [
    { name: "A", value: "1" },
    { name: "S", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
  ];
  expect(variables({ container: { env }, secrets: { s: { k: "$(A)" } } })).toEqual({ A: "1", S: "$(A)" });
});

describe("what is missing", () => {
  test.each<[string, Written["container"], string]>([
    ["a ConfigMap", { env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "c", key: "k" } } }] }, 'configmap "c" not found'],
    [
      "a key of a ConfigMap",
      { env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "there", key: "k" } } }] },
      'configmap "there" has no key "k"',
    ],
    ["a Secret", { env: [{ name: "A", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] }, 'secret "s" not found'],
    ["a whole ConfigMap", { envFrom: [{ configMapRef: { name: "c" } }] }, 'configmap "c" not found'],
    ["a whole Secret", { envFrom: [{ secretRef: { name: "s" } }] }, 'secret "s" not found'],
  ])("%s holds the container back", (_, container, message) => {
    expect(() => variables({ container: container ?? {}, configMaps: { there: {} } })).toThrow(message);
  });

  test("is no matter when it is optional", () => {
    const container = {
      env: [
        { name: "A", valueFrom: { configMapKeyRef: { name: "c", key: "k", optional: true } } },
        { name: "B", valueFrom: { secretKeyRef: { name: "s", key: "k", optional: true } } },
      ],
      envFrom: [{ configMapRef: { name: "c", optional: true } }, { secretRef: { name: "s", optional: true } }],
    };
    expect(variables({ container })).toEqual({});
  });
});
