import { expect, test } from "vitest";
import { endSandbox } from "#life/end/write-end.ts";
import { daemonCommand } from "#model/daemon-command.ts";
import { annotationKeys } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import type { DaemonDelivery } from "#sandbox/pods/daemon-delivery.ts";
import { completionOf } from "#sandbox/images/inplace-completion.ts";
import { digestOf } from "../world/pool-pods.ts";
import { PoolScene } from "../world/pool-scene.ts";
import { SteppedClock } from "../world/stepped-clock.ts";
import { until } from "./helpers.ts";
import { describeClaims } from "./servers.ts";

const image = "registry.invalid/daemon:1";
const { signal } = new AbortController();
const nameOf = (pod: Pod | undefined): string => pod?.metadata.name ?? "";

describeClaims("pods that bring the daemon along", (server) => {
  test("are made as the cluster takes them, and used again whichever way it came", async () => {
    const now: { delivery: DaemonDelivery } = { delivery: { kind: "init-container", image } };
    const clock = new SteppedClock(Date.now());
    const pools = { delivery: () => now.delivery, pace: { statusEveryMs: 0 } };
    const { client, claimsOnLeases } = server();
    await using scene = await PoolScene.open({ client, clock, namespace: await server().namespace(), pools, claimsOnLeases });
    await scene.createPool({ replicas: 1 });
    await until(client, SandboxPools, scene.key("py"), (pool) => pool?.status?.daemonDelivery === "InitContainer");
    await until(client, SandboxPools, scene.key("py"), (pool) => pool?.status?.replicas === 1);
    const [copied] = await scene.pods();
    expect(copied?.spec.initContainers?.map(({ name }) => name)).toEqual(["agentbox-daemon"]);
    expect(copied?.spec.containers[0]?.command).toEqual(daemonCommand);

    // The cluster learns image volumes: new pods have them, and the one that is there stays.
    now.delivery = { kind: "image-volume", image };
    await scene.scale(2);
    await until(client, SandboxPools, scene.key("py"), (pool) => pool?.status?.daemonDelivery === "ImageVolume");
    await until(client, SandboxPools, scene.key("py"), (pool) => pool?.status?.replicas === 2 && pool.status.outdatedIdleReplicas === 0);
    const all = await scene.pods();
    expect(all.map(nameOf)).toContain(nameOf(copied));
    const mounted = all.find((pod) => nameOf(pod) !== nameOf(copied));
    expect(mounted?.spec.volumes).toContainEqual(expect.objectContaining({ image: { reference: image, pullPolicy: "IfNotPresent" } }));

    // An API process that knows nothing of the cluster but the image sends both back to be used again.
    const { publicKey, cache, logged } = scene;
    const digests = { resolve: async (name: string) => ({ digest: digestOf(name) }) };
    const delivery = (): DaemonDelivery => ({ kind: "image-volume", image });
    for (const pod of all) {
      const ready = await scene.nodeReports(pod);
      const claimed = await scene.claim(ready, `sb-${nameOf(pod)}`);
      const deps = { client, cache, clock, digests, log: logged.log, publicKey, delivery, maxUses: 10 };
      const outcome = await endSandbox(deps, claimed, { sandboxId: `sb-${nameOf(pod)}` }, signal);
      const released = outcome.kind === "ended" ? outcome.pod : undefined;
      expect(released?.metadata.annotations?.[annotationKeys.inplaceUpdateState]).toContain("-u1@sha256");
      expect(completionOf(released as Pod)).toMatchObject({ kind: "waiting" });
    }
    for (const pod of await scene.allPods()) {
      await client.patch(Pods, scene.key(nameOf(pod)), { type: "merge", body: { metadata: { finalizers: null } } });
    }
  });
});
