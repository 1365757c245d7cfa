import { afterEach, expect, test } from "vitest";
import { systemClock } from "#lib/clock.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { JsonObject } from "#model/meta.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { EnvScene } from "../world/env-scene.ts";
import { gone, until } from "./helpers.ts";
import { describeServers } from "./servers.ts";

describeServers("the adoption of pools", (server) => {
  let stop = async (): Promise<void> => {};
  afterEach(() => stop());

  async function started(adoptPools = false) {
    const { client } = server();
    const namespace = await server().namespace();
    const pools = { protectionWindowMs: () => 0, pace: { statusEveryMs: 0 } };
    const scene = await EnvScene.open({ client, clock: systemClock, namespace, pools, envs: { pace: { statusEveryMs: 0 } }, adoptPools });
    stop = () => scene[Symbol.asyncDispose]();
    const key = scene.pools.key("py");
    const pool = async (isSo: (pool: SandboxPool) => boolean) =>
      (await until(client, SandboxPools, key, (one) => one !== undefined && isSo(one))) as SandboxPool;
    const env = async (isSo: (env: SandboxEnv) => boolean) =>
      (await until(client, SandboxEnvs, key, (one) => one !== undefined && isSo(one))) as SandboxEnv;
    const change = (body: JsonObject) => client.patch(SandboxPools, key, { type: "merge", body });
    return { client, scene, key, pool, env, change };
  }

  const memberOf = ({ spec }: SandboxEnv) => spec.clusters?.[0]?.members?.[0];
  const isOwned = ({ metadata }: SandboxPool): boolean => metadata.ownerReferences?.some(({ kind }) => kind === "SandboxEnv") === true;
  const isNoted = (pool: SandboxPool, { metadata }: SandboxEnv): boolean =>
    metadata.annotations?.[annotationKeys.adoptedGeneration] === String(pool.metadata.generation);

  test("a pool that asks for it gets an Env of its name, and neither its spec nor its pods change", async () => {
    const { scene, pool, env, change } = await started();
    await scene.pools.createPool({ replicas: 2 });
    const before = await pool(({ status }) => status?.replicas === 2);
    const pods = await scene.pools.pods();
    await change({ metadata: { annotations: { [annotationKeys.adopt]: "true" } } });
    const adopted = await pool(isOwned);
    expect(adopted.metadata.ownerReferences?.[0]).not.toHaveProperty("controller");
    expect(adopted.metadata.labels).toMatchObject({ [labelKeys.env]: "py", [labelKeys.scalingGroup]: "default" });
    const made = await env(({ status }) => status?.clusters?.[0]?.observedMembers?.[0]?.state === "Active");
    expect(memberOf(made)).toMatchObject({ name: "py", spec: before.spec });
    expect([adopted.spec, adopted.metadata.generation]).toEqual([before.spec, before.metadata.generation]);
    await scene.pools.changePool({ metadata: { labels: { poke: "1" } } });
    const versions = (list: typeof pods) => list.map(({ metadata }) => [metadata.uid, metadata.annotations?.[annotationKeys.templateHash]]);
    expect(versions(await scene.pools.pods())).toEqual(versions(pods));
    await pool(({ status }) => status?.outdatedIdleReplicas === 0);
  });

  test("pool and Env follow each other, whichever was changed", async () => {
    const { scene, pool, env, change, client, key } = await started(true);
    await scene.pools.createPool({ replicas: 1 });
    await pool(isOwned);
    await change({ spec: { replicas: 3, defaultIdleTimeout: "1h" } });
    const followed = await env((one) => memberOf(one)?.spec?.replicas === 3);
    expect(memberOf(followed)?.spec?.defaultIdleTimeout).toBe("1h");
    const now = await pool(() => true);
    await env((one) => isNoted(now, one));
    await scene.setReplicas("py", 0, 2);
    const scaled = await pool(({ spec }) => spec.replicas === 2);
    await env((one) => isNoted(scaled, one));
    await change({ spec: { replicas: 4 } });
    await env((one) => memberOf(one)?.spec?.replicas === 4);
    // A file without the snapshot, applied again.
    const clusters = [{ clusterID: "local", members: [{ name: "py" }] }];
    await client.patch(SandboxEnvs, key, { type: "merge", body: { spec: { clusters } } });
    await env((one) => memberOf(one)?.spec?.replicas === 4 && memberOf(one)?.spec?.template !== undefined);
  });

  test("an Env that is taken away leaves the pool as it was, and the pool is not adopted again", async () => {
    const { scene, pool, client, key } = await started(true);
    const { metadata } = await scene.pools.createPool({ replicas: 1 });
    const adopted = await pool(isOwned);
    await client.delete(SandboxEnvs, key);
    await gone(client, SandboxEnvs, key);
    const left = await pool((one) => !isOwned(one));
    expect([left.metadata.uid, left.spec, left.metadata.deletionTimestamp]).toEqual([metadata.uid, adopted.spec, undefined]);
    expect(left.metadata.labels ?? {}).not.toHaveProperty([labelKeys.env]);
    expect(left.metadata.annotations?.[annotationKeys.adopt]).toBe("false");
    await scene.pools.scale(2);
    await pool(({ status }) => status?.replicas === 2);
    expect((await client.list(SandboxEnvs, { namespace: scene.pools.namespace })).items).toEqual([]);
  });

  test("the Env of a pool that is deleted goes with it, and makes no new one", async () => {
    const { scene, pool, client, key } = await started(true);
    await scene.pools.createPool({ replicas: 1 });
    await pool(isOwned);
    await client.delete(SandboxPools, key);
    await gone(client, SandboxPools, key);
    await gone(client, SandboxEnvs, key);
    expect((await client.list(SandboxPools, { namespace: scene.pools.namespace })).items).toEqual([]);
  });

  test("pools that do not ask, pools of Envs and pools whose name another Env has are left alone", async () => {
    const { scene, pool, client } = await started();
    await scene.pools.createPool({ replicas: 1 });
    await pool(({ status }) => status?.replicas === 1);
    expect((await client.list(SandboxEnvs, { namespace: scene.pools.namespace })).items).toEqual([]);
    const spec = { templateRef: { name: "unheard" }, mode: "WarmPool", clusters: [{ clusterID: "local", members: [{ name: "other" }] }] };
    await scene.createEnv({ name: "py", spec });
    await scene.pools.changePool({ metadata: { annotations: { [annotationKeys.adopt]: "true" } } });
    await expect.poll(() => scene.pools.told()).toContainEqual(expect.stringContaining("Warning NotAdopted ("));
    expect(isOwned(await scene.pools.pool())).toBe(false);
  });
});
