import { expect, test } from "vitest";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { anEnv, aPool } from "./own-kinds.ts";
import { describeServers } from "./servers.ts";

describeServers("defaults of our kinds", (server) => {
  test("defaults are filled in, down to list items and left-out policies", async () => {
    const namespace = await server().namespace();
    const env = anEnv(namespace, "defaulted", {
      clusters: [{ clusterID: "local", members: [{ name: "pool-a", spec: aPool(namespace, "x").spec, config: {} }] }],
      autoscaling: { groups: [{ name: "default" }] },
    });
    const { mode: _, ...withoutMode } = env.spec;
    const made = await server().client.create(SandboxEnvs, { ...env, spec: withoutMode as typeof env.spec });
    expect(made.spec.mode).toBe("WarmPool");
    expect(made.spec.autoscaling?.groups?.[0]).toEqual({
      name: "default",
      enabled: false,
      minReplicas: 0,
      scaleUpPolicy: {
        mode: "Default",
        cooldownSeconds: 30,
        idleThresholdSeconds: 30,
        idleZeroQuietWindowSeconds: 300,
        saturationCooldownSeconds: 60,
      },
      scaleDownPolicy: { idleTimeoutSeconds: 300, stabilizationSeconds: 60, protectionWindowSeconds: 10 },
    });
    const member = made.spec.clusters?.[0]?.members?.[0];
    expect(member?.config?.scalingGroup).toBe("default");
    expect(member?.spec?.podCreationImagePolicy).toBe("IdleImage");
  });

  test("a pod template is carried along with all its fields, known to us or not", async () => {
    const namespace = await server().namespace();
    const template = {
      metadata: { labels: { a: "b" }, annotations: { c: "d" } },
      spec: { containers: [{ name: "main", image: "host", invented: { deep: [1, { x: null }] } }], somethingNew: true },
    };
    const made = await server().client.create(SandboxPools, aPool(namespace, "carried", { template }));
    expect(made.spec.template).toEqual(template);
  });

  test("an explicit null for a field with a default is the default", async () => {
    const namespace = await server().namespace();
    const pool = aPool(namespace, "nulled");
    const spec = { ...pool.spec, podCreationImagePolicy: null } as unknown as typeof pool.spec; // As YAML can say it.
    expect((await server().client.create(SandboxPools, { ...pool, spec })).spec.podCreationImagePolicy).toBe("IdleImage");
  });
});
