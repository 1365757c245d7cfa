import { expect, test } from "vitest";
import { ConfigMaps } from "#model/core-kinds.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { aConfigMap, refusal } from "./helpers.ts";
import { aPool } from "./own-kinds.ts";
import { describeServers } from "./servers.ts";

describeServers("the scale of a pool", (server) => {
  test("it shows what is wanted, what is there and how to find it", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const pool = await client.create(SandboxPools, aPool(namespace, "p"));
    const key = { namespace, name: "p" };
    expect((await client.getScale(SandboxPools, key)).status?.replicas).toBe(0);
    const written = await client.update(SandboxPools, { ...pool, status: { replicas: 2, selector: "a=b" } }, { subresource: "status" });
    const scale = await client.getScale(SandboxPools, key);
    expect(scale).toMatchObject({
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      spec: { replicas: 2 },
      status: { replicas: 2, selector: "a=b" },
    });
    expect(scale.metadata).toMatchObject({
      namespace,
      name: "p",
      uid: pool.metadata.uid,
      resourceVersion: written.metadata.resourceVersion,
    });
  });

  test("writing it changes replicas and generation, and nothing else", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const key = { namespace, name: "p" };
    const pool = await client.create(SandboxPools, aPool(namespace, "p"));
    const scale = await client.getScale(SandboxPools, key);
    expect((await client.updateScale(SandboxPools, key, { ...scale, spec: { replicas: 7 } })).spec.replicas).toBe(7);
    const scaled = await client.get(SandboxPools, key);
    expect(scaled.spec).toEqual({ ...pool.spec, replicas: 7 });
    expect(scaled.metadata.generation).toBe(2);
  });

  test("a write on an old version is a conflict", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const key = { namespace, name: "p" };
    await client.create(SandboxPools, aPool(namespace, "p"));
    const scale = await client.getScale(SandboxPools, key);
    await client.updateScale(SandboxPools, key, { ...scale, spec: { replicas: 7 } });
    expect((await refusal(client.updateScale(SandboxPools, key, { ...scale, spec: { replicas: 8 } }))).reason).toBe("Conflict");
  });

  test("it can be patched", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const key = { namespace, name: "p" };
    await client.create(SandboxPools, aPool(namespace, "p"));
    await client.patchScale(SandboxPools, key, { type: "merge", body: { spec: { replicas: 4 } } });
    expect((await client.get(SandboxPools, key)).spec.replicas).toBe(4);
  });

  test("a negative scale is refused", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const key = { namespace, name: "p" };
    await client.create(SandboxPools, aPool(namespace, "p"));
    const no = await refusal(client.patchScale(SandboxPools, key, { type: "merge", body: { spec: { replicas: -1 } } }));
    expect(no.reason).toBe("Invalid");
    expect(no.fields).toContain("spec.replicas");
  });

  test("the scale of what is not there is NotFound", async () => {
    const namespace = await server().namespace();
    expect((await refusal(server().client.getScale(SandboxPools, { namespace, name: "nobody" }))).reason).toBe("NotFound");
  });

  test("a kind without scale has none", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(ConfigMaps, aConfigMap(namespace, "c"));
    expect((await refusal(client.getScale(ConfigMaps, { namespace, name: "c" }))).reason).toBe("NotFound");
  });
});
