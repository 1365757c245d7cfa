import { expect, test } from "vitest";
import { annotationKeys } from "#model/keys.ts";
import type { SandboxPool, SandboxPoolStatus } from "#model/sandbox-pool.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import { templateStatus } from "./template-status.ts";

const now = "2026-01-01T00:00:00Z";
const template: SandboxTemplate = { metadata: { name: "py", generation: 3 }, spec: { version: "v2.0.0" } };

function aPool(name: string, version: string, status: SandboxPoolStatus = {}): SandboxPool {
  const annotations = { [annotationKeys.templateVersion]: version };
  return { metadata: { namespace: "ns", name, annotations }, spec: { replicas: 2, templateName: "py" }, status };
}

function degraded(reason: string, message: string): SandboxPoolStatus {
  return { conditions: [{ type: "Degraded", status: "True", reason, message, lastTransitionTime: now }] };
}

function told(pools: readonly SandboxPool[], more: { defect?: string } = {}): string[] {
  const { conditions = [] } = templateStatus(template, { pools, ...more }, now);
  return conditions.map(({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`);
}

test("a template that no pool names says so", () => {
  expect(told([])).toEqual([
    "Available False NotUsed: no pool names this template",
    "Progressing False NotUsed: no pool names this template",
    "Degraded False NotUsed: no pool names this template",
  ]);
});

test("a template of which no pod can be made is degraded before anybody uses it", () => {
  expect(told([], { defect: "there is nothing to run" })[2]).toBe("Degraded True TemplateInvalid: there is nothing to run");
});

test("a template tells how many pods of it can be claimed, in all pools that name it", () => {
  const pools = [aPool("a", "v2.0.0", { idleReplicas: 3, unavailableIdleReplicas: 1 }), aPool("b", "v2.0.0", { idleReplicas: 4 })];
  expect(told(pools)).toEqual([
    "Available True PodsAvailable: 6 idle pods in 2 pools can be claimed",
    "Progressing False PoolsUpToDate: 2 pools up to date",
    "Degraded False PoolsHealthy: 2 pools healthy",
  ]);
  expect(told([aPool("a", "v2.0.0")])[0]).toBe("Available False NoPodsAvailable: no idle pod in 1 pool can be claimed");
});

test("a template names the pools that have not followed its last change: another version, or idle pods from before it", () => {
  const pools = [aPool("c", "v1.0.0"), aPool("b", "v2.0.0", { outdatedIdleReplicas: 2 }), aPool("a", "v2.0.0")];
  expect(told(pools)[1]).toBe("Progressing True PoolsOutdated: 2 of 3 pools not up to date, 2 idle pods to be replaced: ns/b, ns/c");
});

test("a template names pools that are unwell; what is wrong with the template itself goes first", () => {
  const sick = aPool("a", "v2.0.0", degraded("ImageUnavailable", "no such image"));
  expect(told([sick, aPool("b", "v2.0.0")])[2]).toBe("Degraded True PoolsDegraded: 1 of 2 pools degraded: ns/a");
  const invalid = aPool("b", "v2.0.0", degraded("TemplateInvalid", "nothing to run"));
  expect(told([sick, invalid])[2]).toBe("Degraded True TemplateInvalid: pool ns/b: nothing to run");
});

test("a template with very many pools names only some of them", () => {
  const pools = Array.from({ length: 8 }, (_, index) => aPool(`p${index}`, ""));
  expect(told(pools)[1]).toMatch(/: ns\/p0, ns\/p1, ns\/p2, ns\/p3, ns\/p4 and 3 more$/);
});

test("a template's condition keeps its time until its status changes, and what others say stays", () => {
  const other = { type: "Scanned", status: "True", reason: "Clean", message: "", lastTransitionTime: "then" } as const;
  const before = templateStatus(template, { pools: [] }, now);
  const seen = { ...template, status: { conditions: [...(before.conditions ?? []), other] } };
  const pools = [aPool("a", "v2.0.0", { idleReplicas: 1 })];
  const after = templateStatus(seen, { pools }, "later");
  expect(after.conditions?.map(({ type, lastTransitionTime }) => `${type} ${lastTransitionTime}`)).toEqual([
    "Available later",
    `Progressing ${now}`,
    `Degraded ${now}`,
    "Scanned then",
  ]);
  expect(after.conditions?.[0]?.observedGeneration).toBe(3);
});
