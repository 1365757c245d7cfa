/** Small valid objects of our own kinds, for tests to vary. */
import type { Checkpoint } from "#model/checkpoint.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";

const podTemplate = { spec: { containers: [{ name: "main", image: "host" }] } };

export function aPool(namespace: string, name: string, spec: Partial<SandboxPool["spec"]> = {}): SandboxPool {
  return { metadata: { namespace, name }, spec: { replicas: 2, template: podTemplate, ...spec } };
}

export function aTemplate(name: string, spec: Partial<SandboxTemplate["spec"]> = {}): SandboxTemplate {
  return { metadata: { name }, spec: { template: podTemplate, ...spec } };
}

export function anEnv(namespace: string, name: string, spec: Partial<SandboxEnv["spec"]> = {}): SandboxEnv {
  return { metadata: { namespace, name }, spec: { templateRef: { name: "base" }, mode: "WarmPool", ...spec } };
}

export function aCheckpoint(namespace: string, name: string, spec: Partial<Checkpoint["spec"]>): Checkpoint {
  return { metadata: { namespace, name }, spec: { ...spec } as Checkpoint["spec"] };
}
