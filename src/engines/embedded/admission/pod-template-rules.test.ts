import { expect, test } from "vitest";
import { isApiError } from "#kube/api-error.ts";
import { Namespaces } from "#model/core-kinds.ts";
import type { ApiObject, JsonObject } from "#model/meta.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { type SandboxTemplate, SandboxTemplates } from "#model/sandbox-template.ts";
import { SteppedClock } from "../../../../test/world/stepped-clock.ts";
import { openObjectStore } from "../store/object-store.ts";
import { embeddedKindRules } from "./all-rules.ts";

async function refusedFields(podSpec: JsonObject, spec: JsonObject = {}): Promise<readonly string[]> {
  using store = openObjectStore({ file: ":memory:", kinds: embeddedKindRules({ podTemplates: true }), clock: new SteppedClock() });
  await store.create(Namespaces, { metadata: { name: "ns" } });
  const isPool = Object.keys(spec).length > 0;
  const body = { metadata: { name: "a", namespace: isPool ? "ns" : undefined }, spec: { template: { spec: podSpec }, ...spec } };
  try {
    if (isPool) await store.create(SandboxPools, body as unknown as SandboxPool);
    else await store.create(SandboxTemplates, body as unknown as SandboxTemplate);
    return [];
  } catch (error) {
    if (!isApiError(error, "Invalid")) throw error;
    return (error.details.causes ?? []).map(({ field }) => field);
  }
}

const main = (more: JsonObject = {}): JsonObject => ({ containers: [{ name: "main", image: "app:1", ...more }] });

const mistakes: readonly [string, JsonObject, string][] = [
  ["a host path", { ...main(), volumes: [{ name: "v", hostPath: { path: "/" } }] }, "spec.template.spec.volumes[0].hostPath"],
  [
    "a privileged container",
    main({ securityContext: { privileged: true } }),
    "spec.template.spec.containers[0].securityContext.privileged",
  ],
  ["a port that there is not", main({ ports: [{ containerPort: 99_999 }] }), "spec.template.spec.containers[0].ports[0].containerPort"],
  ["a field that pods do not have", main({ imagee: "x" }), "spec.template.spec.containers[0].imagee"],
  [
    "a mount without its volume",
    main({ volumeMounts: [{ name: "v", mountPath: "/v" }] }),
    "spec.template.spec.containers[0].volumeMounts[0].name",
  ],
  ["a text where a number belongs", main({ ports: [{ containerPort: "http" }] }), "spec.template.spec"],
];

test.each(mistakes)("a template with %s is refused at its field", async (_, podSpec, field) => {
  expect(await refusedFields(podSpec)).toContain(field);
  expect(await refusedFields(podSpec, { replicas: 1 }), "and so is a pool").toContain(field);
});

test("a template may leave out images, and a pool that names a template may say a part of a pod", async () => {
  expect(await refusedFields({ containers: [{ name: "main" }] })).toEqual([]);
  const part = { containers: [{ name: "main", resources: { limits: { memory: "1Gi" } } }] };
  expect(await refusedFields(part, { replicas: 1, templateName: "base" })).toEqual([]);
});

test("what is stored already may stay while something else is changed", () => {
  const rules = embeddedKindRules({ podTemplates: true }).find(({ resource }) => resource.kind === "SandboxTemplate");
  const spec = { template: { spec: main({ securityContext: { privileged: true } }) } };
  const stored = { apiVersion: "agents.navix.sh/v1alpha1", kind: "SandboxTemplate", metadata: { name: "a", resourceVersion: "1" }, spec };
  const labelled = { ...stored, metadata: { ...stored.metadata, labels: { a: "b" } } };
  expect(rules?.validateUpdate(labelled, stored, "main")).toEqual([]);
  expect(rules?.validateUpdate({ ...stored, spec: { ...spec, description: "x" } } as ApiObject, stored, "main")).not.toEqual([]);
});
