import { Registry } from "prom-client";
import { afterEach, expect, test } from "vitest";
import { startPoolController } from "#controllers/pool/reconcile-pool.ts";
import { letGo } from "#lifecycle/delete-pod.ts";
import { Expectations } from "#kube/controller/expectations.ts";
import { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import { systemClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { annotationKeys, finalizers, labelKeys } from "#model/keys.ts";
import { Pods } from "#model/pod.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { gone, until } from "./helpers.ts";
import { aPool, aTemplate } from "./own-kinds.ts";
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
      protectionWindowMs: () => 300,
      pace: { statusEveryMs: 20 },
    });
    // What the pod controller does, without the records.
    const pods = cache.pods.onChange((pod) => {
      if (pod?.metadata.deletionTimestamp !== undefined) letGo({ client, cache }, pod).catch(() => {});
    });
    stop = async () => {
      pods.remove();
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

  const ready = (namespace: string, name: string) =>
    server().client.patch(
      Pods,
      { namespace, name },
      { type: "merge", body: { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } } },
      { subresource: "status" },
    );

  test("W2 W16: a pod that was chosen to go may still be claimed, and stays then", async () => {
    const namespace = await started(server());
    const { client } = server();
    await client.create(SandboxPools, aPool(namespace, "py", { replicas: 1 }));
    await wanted(namespace, 1);
    const name = (await podsOf(namespace))[0]?.metadata.name ?? "";
    await ready(namespace, name);
    await client.patchScale(SandboxPools, { namespace, name: "py" }, { type: "merge", body: { spec: { replicas: 0 } } });
    const mark = annotationKeys.scaleDownProtected;
    const marked = await until(client, Pods, { namespace, name }, (pod) => pod?.metadata.annotations?.[mark] !== undefined);
    expect(marked?.metadata.deletionTimestamp).toBeUndefined();
    await client.patch(
      Pods,
      { namespace, name },
      { type: "merge", body: { metadata: { labels: { [labelKeys.sandboxPhase]: "running" }, annotations: { [mark]: null } } } },
    );
    await until(client, SandboxPools, { namespace, name: "py" }, (pool) => pool?.status?.runningReplicas === 1);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await podsOf(namespace)).toHaveLength(1);
  });

  test("a pool without its template says so, and is filled when there is one", async () => {
    const namespace = await started(server());
    const { client } = server();
    const template = `late-${namespace}`;
    const { template: _, ...spec } = aPool(namespace, "py").spec;
    await client.create(SandboxPools, { metadata: { namespace, name: "py" }, spec: { ...spec, templateName: template, replicas: 1 } });
    const reasonOf = (pool: SandboxPool | undefined) => pool?.status?.conditions?.find(({ type }) => type === "Degraded")?.reason;
    await until(client, SandboxPools, { namespace, name: "py" }, (pool) => reasonOf(pool) === "TemplateMissing");
    await client.create(SandboxTemplates, aTemplate(template, { version: "v1.0.0" }));
    const pool = await wanted(namespace, 1);
    expect(pool?.metadata.annotations).toMatchObject({
      [annotationKeys.templateName]: template,
      [annotationKeys.templateVersion]: "v1.0.0",
    });
    await client.delete(SandboxTemplates, { name: template });
  });

  test("a pod that lost its protection gets it back", async () => {
    const namespace = await started(server());
    const { client } = server();
    await client.create(SandboxPools, aPool(namespace, "py", { replicas: 1 }));
    await wanted(namespace, 1);
    const name = (await podsOf(namespace))[0]?.metadata.name ?? "";
    await client.patch(Pods, { namespace, name }, { type: "merge", body: { metadata: { finalizers: null } } });
    const pod = await until(client, Pods, { namespace, name }, (one) => one?.metadata.finalizers?.length === 1);
    expect(pod?.metadata.finalizers).toEqual([finalizers.sandboxProtection]);
  });

  test("idle pods of an earlier template are replaced, claimed ones are not", async () => {
    const namespace = await started(server());
    const { client } = server();
    await client.create(SandboxPools, aPool(namespace, "py", { replicas: 2 }));
    await wanted(namespace, 2);
    const [used, other] = (await podsOf(namespace)).map((pod) => pod.metadata.name ?? "");
    const labels = { [labelKeys.sandboxPhase]: "running" };
    await client.patch(Pods, { namespace, name: used ?? "" }, { type: "merge", body: { metadata: { labels } } });
    const template = { spec: { containers: [{ name: "main", image: "host", env: [{ name: "NEW", value: "1" }] }] } };
    await client.patch(SandboxPools, { namespace, name: "py" }, { type: "merge", body: { spec: { template } } });
    await gone(client, Pods, { namespace, name: other ?? "" });
    await wanted(namespace, 2);
    expect((await podsOf(namespace)).map((pod) => pod.metadata.name)).toContain(used);
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
