import { Registry } from "prom-client";
import { afterEach, expect, test } from "vitest";
import { startPoolController } from "#controllers/pool/reconcile-pool.ts";
import { Expectations } from "#kube/controller/expectations.ts";
import { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import { systemClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { annotationKeys, finalizers, labelKeys } from "#model/keys.ts";
import { Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { gone, until } from "./helpers.ts";
import { aPool } from "./own-kinds.ts";
import { describeServers, type ContractServer } from "./servers.ts";

const digest = `sha256:${"d".repeat(64)}`;
const idle = { [labelKeys.sandboxPhase]: "idle" };

describeServers("the pool controller", (server) => {
  let stop = async (): Promise<void> => {};
  afterEach(() => stop());

  async function started(running: ContractServer): Promise<string> {
    const namespace = await running.namespace();
    const log = openLog({ clock: systemClock, out: { write: () => true } });
    const { client } = running;
    const cache = new SandboxCache({ client, clock: systemClock, log }, { namespace });
    const controller = startPoolController({
      client,
      cache,
      clock: systemClock,
      log,
      metrics: prometheusMetrics(new Registry()),
      expectations: new Expectations(systemClock),
      digests: { resolve: async () => ({ digest }) },
      random: Math.random,
      publicKey: "key",
      creationsAtOnce: 4,
    });
    stop = async () => {
      await controller.stop();
      await cache.stop();
    };
    await cache.run();
    return namespace;
  }

  const wanted = (namespace: string, replicas: number) =>
    until(server().client, SandboxPools, { namespace, name: "py" }, (pool) => pool?.status?.replicas === replicas);
  const podsOf = async (namespace: string) =>
    (await server().client.list(Pods, { namespace })).items.filter((pod) => pod.metadata.deletionTimestamp === undefined);

  test("a pool gets as many idle pods as it wants, pinned to a digest and protected", async () => {
    const namespace = await started(server());
    await server().client.create(SandboxPools, aPool(namespace, "py", { replicas: 3 }));
    const pool = await wanted(namespace, 3);
    expect(pool?.metadata.finalizers).toEqual([finalizers.pool]);
    const pods = await podsOf(namespace);
    expect(pods).toHaveLength(3);
    for (const pod of pods) {
      expect(pod.metadata.labels).toMatchObject({ [labelKeys.sandboxPool]: "py", ...idle });
      expect(pod.metadata.finalizers).toEqual([finalizers.sandboxProtection]);
      expect(pod.metadata.ownerReferences?.[0]).toMatchObject({
        kind: "SandboxPool",
        name: "py",
        uid: pool?.metadata.uid,
        controller: true,
      });
      expect(pod.spec.containers[0]?.image).toContain(`@${digest}`);
      expect(pod.metadata.annotations?.[annotationKeys.useCount]).toBe("0");
    }
  });

  test("a pool that is scaled follows, up and down", async () => {
    const namespace = await started(server());
    const key = { namespace, name: "py" };
    const { client } = server();
    await client.create(SandboxPools, aPool(namespace, "py", { replicas: 1 }));
    await wanted(namespace, 1);
    await client.patchScale(SandboxPools, key, { type: "merge", body: { spec: { replicas: 4 } } });
    await wanted(namespace, 4);
    await client.patchScale(SandboxPools, key, { type: "merge", body: { spec: { replicas: 2 } } });
    await wanted(namespace, 2);
    expect(await podsOf(namespace)).toHaveLength(2);
  });

  test("I4: scaling down takes idle pods only", async () => {
    const namespace = await started(server());
    const { client } = server();
    await client.create(SandboxPools, aPool(namespace, "py", { replicas: 2 }));
    await wanted(namespace, 2);
    const [used] = await podsOf(namespace);
    const name = used?.metadata.name ?? "";
    await client.patch(
      Pods,
      { namespace, name },
      { type: "merge", body: { metadata: { labels: { [labelKeys.sandboxPhase]: "running" } } } },
    );
    await client.patchScale(SandboxPools, { namespace, name: "py" }, { type: "merge", body: { spec: { replicas: 0 } } });
    await wanted(namespace, 1);
    expect((await podsOf(namespace)).map((pod) => pod.metadata.name)).toEqual([name]);
  });

  test("a pod that somebody deletes is replaced", async () => {
    const namespace = await started(server());
    const { client } = server();
    await client.create(SandboxPools, aPool(namespace, "py", { replicas: 1 }));
    await wanted(namespace, 1);
    const [first] = await podsOf(namespace);
    const name = first?.metadata.name ?? "";
    await client.delete(Pods, { namespace, name });
    await gone(client, Pods, { namespace, name });
    await until(
      client,
      SandboxPools,
      { namespace, name: "py" },
      (pool) => pool?.status?.phase === "Degraded" || pool?.status?.replicas === 1,
    );
    expect((await podsOf(namespace)).map((pod) => pod.metadata.name)).not.toContain(name);
  });

  test("a deleted pool takes its pods along and is gone after them", async () => {
    const namespace = await started(server());
    const { client } = server();
    await client.create(SandboxPools, aPool(namespace, "py", { replicas: 2 }));
    await wanted(namespace, 2);
    await client.delete(SandboxPools, { namespace, name: "py" });
    await gone(client, SandboxPools, { namespace, name: "py" });
    expect(await podsOf(namespace)).toEqual([]);
  });
});
