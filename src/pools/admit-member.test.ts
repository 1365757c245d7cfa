import { expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { NamedVerdict } from "#plugins/plugin.ts";
import { aMember, shellEnv, shellTemplate, someInstanceTypes } from "../../test/world/env-objects.ts";
import { type AdmitDeps, admitMember, renderMember } from "./admit-member.ts";

const signal = new AbortController().signal;

function deps(secrets: readonly string[] = [], preCreatePool?: (pool: SandboxPool) => NamedVerdict<SandboxPool>): AdmitDeps {
  const get = (_: unknown, { name }: { name: string }): Promise<never> =>
    secrets.includes(name) ? Promise.resolve({ metadata: { name } } as never) : Promise.reject(new ApiError("NotFound", "none"));
  const plugins = preCreatePool && { preCreatePool: (pool: SandboxPool) => Promise.resolve(preCreatePool(pool)) };
  const templates = { objects: { get: ({ name }: { name: string }) => (name === "shell" ? shellTemplate() : undefined) } };
  return {
    client: { get } as AdmitDeps["client"],
    cache: { templates, instanceTypes: someInstanceTypes } as unknown as AdmitDeps["cache"],
    plugins,
  };
}

test("a member is admitted as the plugins leave it", async () => {
  const plugin = (pool: SandboxPool): NamedVerdict<SandboxPool> => {
    expect(pool.metadata).toMatchObject({ namespace: "default", name: "shell-a" });
    return {
      object: { metadata: { ...pool.metadata, labels: { ...pool.metadata.labels, reserved: "yes" } }, spec: { ...pool.spec, replicas: 2 } },
    };
  };
  const admission = await admitMember(deps([], plugin), shellEnv(), aMember("shell-a"), signal);
  expect(admission).toMatchObject({ kind: "admitted", metadata: { labels: { reserved: "yes" } }, spec: { replicas: 2 } });
  expect(Object.keys(admission.kind === "admitted" ? admission.metadata : {})).toEqual(["labels", "annotations"]);
});

test("a refusal names the plugin and the member", async () => {
  const refusal = { kind: "InsufficientResources", message: "no room", plugin: "quota", retryAfterMs: 5 } as const;
  const admission = await admitMember(
    deps([], () => ({ refusal })),
    shellEnv(),
    aMember("shell-a"),
    signal,
  );
  expect(admission).toEqual({
    kind: "refused",
    field: "spec.clusters[0].members[0]",
    reason: "InsufficientResources",
    message: "plugin quota: no room",
    retryAfterMs: 5,
  });
});

test("the Env's registry credentials are named where they exist", async () => {
  const secrets = async (present: readonly string[]) => {
    const admission = await admitMember(deps(present), shellEnv(), aMember("shell-a"), signal);
    return admission.kind === "admitted" ? admission.spec.template?.spec?.imagePullSecrets : undefined;
  };
  expect([await secrets([]), await secrets(["ips-shell"])]).toEqual([undefined, [{ name: "ips-shell" }]]);
});

test.for([
  ["TemplateMissing", shellEnv({ spec: { templateRef: { name: "go" } } }), {}, "spec.templateRef.name"],
  ["InstanceTypeMissing", shellEnv(), { instanceType: "gpu", multiplier: 1 }, "spec.clusters[0].members[0].config.instanceType"],
  ["MultiplierOutOfRange", shellEnv(), { instanceType: "small", multiplier: 99 }, "spec.clusters[0].members[0].config.multiplier"],
] as const)("what cannot be rendered is refused with its field, and no plugin is asked: %s", async ([reason, env, config, field]) => {
  const asked = deps([], () => expect.unreachable("a plugin was asked"));
  expect(await admitMember(asked, env, aMember("shell-a", config), signal)).toMatchObject({ kind: "refused", reason, field });
});

test("a preview asks no plugin", async () => {
  const asked = deps([], () => expect.unreachable("a plugin was asked"));
  expect(await renderMember(asked, shellEnv(), aMember("shell-a"), signal)).toMatchObject({ kind: "admitted", spec: { replicas: 1 } });
});
