import { describe, expect, test } from "vitest";
import type { SandboxPoolSpec } from "#model/sandbox-pool.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import { type PoolTemplate, resolveTemplate } from "./resolve-template.ts";

const named: SandboxTemplate = {
  metadata: { name: "base" },
  spec: {
    version: "v1.2.0",
    description: "for people",
    idleImage: "idle:1",
    runtimes: [
      { name: "e2b", port: 49_983 },
      { name: "swerex", port: 8000 },
    ],
    template: {
      metadata: { labels: { app: "base", tier: "one" }, annotations: { note: "from the template" } },
      spec: {
        containers: [
          {
            name: "main",
            image: "app:1",
            env: [
              { name: "A", value: "1" },
              { name: "B", value: "2" },
            ],
            resources: { limits: { cpu: "1", memory: "512Mi" }, requests: { cpu: "100m" } },
            readinessProbe: { httpGet: { port: 80 } },
          },
          { name: "side", image: "side:1" },
        ],
        volumes: [{ name: "data", emptyDir: {} }],
        terminationGracePeriodSeconds: 5,
      },
    },
  },
};

function resolved(spec: Partial<SandboxPoolSpec>, template: SandboxTemplate | undefined = named): PoolTemplate {
  const result = resolveTemplate({ spec: { replicas: 1, ...spec } }, template);
  if (result.kind !== "template") throw new Error(result.kind);
  return result.template;
}

describe("a pool that names a template", () => {
  test("has what the template has, and says where it is from", () => {
    const { template, idleImage, runtimes } = named.spec;
    expect(resolved({ templateName: "base" })).toEqual({
      template,
      idleImage,
      runtimes,
      podCreationImagePolicy: "IdleImage",
      from: { name: "base", version: "v1.2.0" },
    });
  });

  test("takes no description, version or visibility over as fields of its own", () => {
    expect(Object.keys(resolved({ templateName: "base" }))).not.toContain("description");
  });

  test("that is not there, says which is missing", () => {
    expect(resolveTemplate({ spec: { replicas: 1, templateName: "gone" } }, undefined)).toEqual({ kind: "missing-template", name: "gone" });
  });

  test("without a version does not make one up", () => {
    const { version: _, ...spec } = named.spec;
    expect(resolved({ templateName: "base" }, { ...named, spec }).from).toEqual({ name: "base" });
    expect(resolved({ templateName: "base" }, { ...named, spec: { ...spec, version: "" } }).from).toEqual({ name: "base" });
  });

  test("decides about its own image policy", () => {
    expect(resolved({ templateName: "base", podCreationImagePolicy: "PoolDefaultImage" }).podCreationImagePolicy).toBe("PoolDefaultImage");
  });
});

describe("what a pool says itself", () => {
  test("goes before the template's idle image, and an empty one does not", () => {
    expect(resolved({ templateName: "base", idleImage: "own:2" }).idleImage).toBe("own:2");
    expect(resolved({ templateName: "base", idleImage: "" }).idleImage).toBe("idle:1");
  });

  test("replaces runtimes of the same name and adds others", () => {
    const { runtimes } = resolved({
      templateName: "base",
      runtimes: [
        { name: "e2b", port: 1 },
        { name: "extra", port: 2 },
      ],
    });
    expect(runtimes).toEqual([
      { name: "e2b", port: 1 },
      { name: "swerex", port: 8000 },
      { name: "extra", port: 2 },
    ]);
  });

  test("about a container changes just that", () => {
    const { template } = resolved({
      templateName: "base",
      template: {
        spec: {
          containers: [
            {
              name: "main",
              resources: { limits: { memory: "2Gi" } },
              env: [
                { name: "B", value: "own" },
                { name: "C", value: "3" },
              ],
            },
          ],
        },
      },
    });
    expect(template?.spec?.containers[0]).toEqual({
      name: "main",
      image: "app:1",
      env: [
        { name: "A", value: "1" },
        { name: "B", value: "own" },
        { name: "C", value: "3" },
      ],
      resources: { limits: { cpu: "1", memory: "2Gi" }, requests: { cpu: "100m" } },
      readinessProbe: { httpGet: { port: 80 } },
    });
    expect(template?.spec?.containers.map(({ name }) => name)).toEqual(["main", "side"]);
  });

  test("replaces a probe as a whole: two handlers in one would be none", () => {
    const { template } = resolved({
      templateName: "base",
      template: { spec: { containers: [{ name: "main", readinessProbe: { exec: { command: ["true"] } } }] } },
    });
    expect(template?.spec?.containers[0]?.readinessProbe).toEqual({ exec: { command: ["true"] } });
  });

  test("replaces a volume of the same name as a whole, and adds others", () => {
    const { template } = resolved({
      templateName: "base",
      template: {
        spec: {
          containers: [],
          volumes: [
            { name: "data", secret: { secretName: "s" } },
            { name: "more", emptyDir: {} },
          ],
        },
      },
    });
    expect(template?.spec?.volumes).toEqual([
      { name: "data", secret: { secretName: "s" } },
      { name: "more", emptyDir: {} },
    ]);
  });

  test("adds containers behind the template's: the first one stays the sandbox", () => {
    const { template } = resolved({
      templateName: "base",
      template: { spec: { containers: [{ name: "extra", image: "e:1" }], initContainers: [{ name: "init", image: "i:1" }] } },
    });
    expect(template?.spec?.containers.map(({ name }) => name)).toEqual(["main", "side", "extra"]);
    expect(template?.spec?.initContainers).toEqual([{ name: "init", image: "i:1" }]);
  });

  test("about the pod goes before the template's, without repeating the containers", () => {
    const { template } = resolved({
      templateName: "base",
      // A pod template is open: the schema does not ask for containers.
      template: { metadata: { labels: { tier: "two" } }, spec: { terminationGracePeriodSeconds: 0, runtimeClassName: "gvisor" } as never },
    });
    expect(template?.spec).toMatchObject({ terminationGracePeriodSeconds: 0, runtimeClassName: "gvisor" });
    expect(template?.spec?.containers).toHaveLength(2);
    expect(template?.metadata).toEqual({ labels: { app: "base", tier: "two" }, annotations: { note: "from the template" } });
  });
});

describe("a pool with a template of its own", () => {
  test("needs no other", () => {
    const template = { spec: { containers: [{ name: "main", image: "app:1" }] } };
    expect(resolved({ template })).toEqual({ template, podCreationImagePolicy: "IdleImage" });
  });

  test("is not mixed with a template that it does not name", () => {
    expect(resolved({}, named)).toEqual({ podCreationImagePolicy: "IdleImage" });
  });
});
