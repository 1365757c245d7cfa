import { expect, test } from "vitest";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import { poolSize } from "./pool-size.ts";

function templateWith(limits: Readonly<Record<string, string>>): SandboxTemplate {
  return { metadata: { name: "py" }, spec: { template: { spec: { containers: [{ name: "main", image: "i", resources: { limits } }] } } } };
}

/** A cache that has one template. */
function cacheWith(template: SandboxTemplate): Pick<SandboxCache, "templates"> {
  const get = ({ name }: { readonly name: string }) => (name === template.metadata.name ? template : undefined);
  // Nothing else of it is used here.
  return { templates: { objects: { get } } } as unknown as Pick<SandboxCache, "templates">;
}

const pool = (spec: Partial<SandboxPool["spec"]>): SandboxPool => ({ metadata: { name: "p" }, spec: { replicas: 1, ...spec } });
const cache = cacheWith(templateWith({ cpu: "2", memory: "1Gi", "ephemeral-storage": "5Gi" }));

test("the size of a pool's sandboxes is that of its template", () => {
  expect(poolSize(cache, pool({ templateName: "py" }))).toEqual({ cpu: "2", memory: "1Gi", disk: "5Gi" });
});

test("what the pool says itself goes before its template", () => {
  const template = { spec: { containers: [{ name: "main", resources: { limits: { memory: "3Gi" } } }] } };
  expect(poolSize(cache, pool({ templateName: "py", template }))).toMatchObject({ cpu: "2", memory: "3Gi" });
});

test("a pool whose template is missing or says nothing has no size", () => {
  expect(poolSize(cache, pool({ templateName: "gone" }))).toEqual({});
  expect(poolSize(cacheWith(templateWith({})), pool({ templateName: "py" }))).toEqual({});
});
