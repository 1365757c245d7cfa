import { expect, test } from "vitest";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { openObjectStore } from "#engines/embedded/store/object-store.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import { annotationKeys } from "#model/keys.ts";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { createFirstObjects } from "./first-objects.ts";

function emptyStore() {
  return openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock: new SteppedClock() });
}

const names = (list: { readonly items: readonly { readonly metadata: { readonly name?: string } }[] }): string[] =>
  list.items.map(({ metadata }) => metadata.name ?? "");

const noteOf = (made: string) => ({ metadata: { namespace: "kube-system", name: "agentbox-first-objects" }, data: { made } });

test("a new installation has the templates and Envs that the SDKs ask for, sized by demand", async () => {
  using store = emptyStore();
  await createFirstObjects(store);
  expect(names(await store.list(SandboxTemplates))).toEqual(["base", "code-interpreter-v1"]);
  const envs = await store.list(SandboxEnvs);
  expect(names(envs)).toEqual(["base", "code-interpreter-v1"]);
  for (const { spec } of envs.items) {
    expect(spec.autoscaling?.groups).toMatchObject([
      { enabled: true, scaleUpPolicy: { mode: "Demand" }, scaleDownPolicy: { idleTimeoutSeconds: 60 } },
    ]);
    expect(spec.autoscaling?.groups?.[0]?.maxReplicas).toBeUndefined();
  }
});

test("an Env that its user deleted does not come back", async () => {
  using store = emptyStore();
  await createFirstObjects(store);
  await store.delete(SandboxEnvs, { namespace: "default", name: "code-interpreter-v1" });
  await createFirstObjects(store);
  expect(names(await store.list(SandboxEnvs))).toEqual(["base"]);
});

test("an installation from before the code interpreter gets it once, and nothing else again", async () => {
  using store = emptyStore();
  await store.create(ConfigMaps, noteOf("SandboxTemplate base, SandboxPool default/base"));
  await createFirstObjects(store);
  expect(names(await store.list(SandboxEnvs))).toEqual(["code-interpreter-v1"]);
  await store.delete(SandboxEnvs, { namespace: "default", name: "code-interpreter-v1" });
  await createFirstObjects(store);
  expect(names(await store.list(SandboxEnvs))).toEqual([]);
});

test("a pool of an installation from before there were Envs becomes the member of an Env, unchanged and with its size as the floor", async () => {
  using store = emptyStore();
  const metadata = { namespace: "default", name: "base" };
  const pool = await store.create(SandboxPools, {
    metadata,
    spec: { replicas: 7, templateName: "base", podCreationImagePolicy: "PoolDefaultImage" },
  });
  await store.create(ConfigMaps, noteOf("SandboxTemplate base, SandboxPool default/base"));
  await createFirstObjects(store);
  const env = await store.get(SandboxEnvs, metadata);
  expect(env.metadata.annotations).toEqual({ [annotationKeys.adoptedGeneration]: String(pool.metadata.generation) });
  expect(env.spec.clusters?.[0]?.members).toMatchObject([{ name: "base", spec: pool.spec }]);
  expect(env.spec.autoscaling?.groups).toMatchObject([{ enabled: true, minReplicas: 7, scaleUpPolicy: { mode: "Demand" } }]);
  expect(await store.get(SandboxPools, metadata)).toEqual(pool);
});
