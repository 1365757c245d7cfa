import { expect, test } from "vitest";
import { systemClock } from "#lib/clock.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { ClaimScene } from "../world/claim-scene.ts";
import { eventually } from "../world/eventually.ts";
import { describeClaims } from "./servers.ts";

const enabled = { autoscaling: { groups: [{ name: "default", enabled: true, maxReplicas: 4 }] } };

describeClaims("creates from an Env", (server) => {
  /** An Env `e` with two member pools that have so many pods. */
  async function opened(pods: { readonly a: number; readonly b: number }): Promise<ClaimScene> {
    const { client, claimsOnLeases } = server();
    const scene = await ClaimScene.open({ client, clock: systemClock, namespace: await server().namespace(), claimsOnLeases, pods: 0 });
    const sizes = [
      { config: { instanceType: "cpu", multiplier: 1, priority: -1 }, resources: { cpu: "1" } },
      { config: { instanceType: "cpu", multiplier: 2 }, resources: { cpu: "2" } },
    ] as const;
    await scene.addEnv("e", { "e-a": sizes[0], "e-b": sizes[1] }, { spec: enabled });
    for (let number = 1; number <= pods.a; number++) await scene.addPod(number, "e-a");
    for (let number = 1; number <= pods.b; number++) await scene.addPod(pods.a + number, "e-b");
    return scene;
  }

  test("all pods of all member pools serve creates that come at once at two processes, each pod once", async () => {
    await using scene = await opened({ a: 2, b: 4 });
    const processes = [await scene.process(), await scene.process()];
    const from = `${scene.namespace}/e`;
    const made = await Promise.all(processes.flatMap((process) => Array.from({ length: 3 }, () => process.create({ from }))));
    expect(new Set(made.map(({ sandbox }) => sandbox.podName)).size).toBe(6);
    expect(made.map(({ sandbox }) => sandbox.poolName).sort()).toEqual(["e-a", "e-a", "e-b", "e-b", "e-b", "e-b"]);
    for (const { sandbox } of made) expect(sandbox).toMatchObject({ status: "Running", envName: "e", templateName: "app" });
    expect(new Set((await scene.pods()).map(sandboxIdOf))).toEqual(new Set(made.map(({ sandbox }) => sandbox.sandboxId)));
  });

  test("a request that waits at two pools gets the pod that comes, also after one of the pools was deleted", async () => {
    await using scene = await opened({ a: 0, b: 0 });
    const process = await scene.process();
    const creating = process.create({ from: `${scene.namespace}/e` });
    const pools = ["e-a", "e-b"].map((name) => ({ namespace: scene.namespace, name }));
    const keys = pools.map(({ namespace, name }) => `${namespace}/${name}`);
    await eventually(() => expect(process.claims.waitingSets()).toEqual([{ count: 1, pools: keys }]));
    await scene.client.delete(SandboxPools, pools[0]!);
    await eventually(() => expect(process.cache.pools.get(pools[0]!)).toBeUndefined());
    await scene.addPod(1, "e-b");
    expect((await creating).sandbox.poolName).toBe("e-b");
  });

  test("wishes choose the member; what no member offers is refused with what there is", async () => {
    await using scene = await opened({ a: 1, b: 1 });
    const process = await scene.process();
    const from = `${scene.namespace}/e`;
    expect((await process.create({ from, multiplier: 2 })).sandbox.poolName).toBe("e-b");
    await expect(process.create({ from, instanceType: "gpu" })).rejects.toMatchObject({
      code: "invalid_request",
      details: { field: "instanceType", available: ["cpu"] },
    });
  });
});
