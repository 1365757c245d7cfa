import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { openObjectStore } from "#engines/embedded/store/object-store.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { Namespaces } from "#model/core-kinds.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { WatchedClient } from "../../../test/world/watched-client.ts";
import { startTemplateController } from "./reconcile-template.ts";
import { claimBook } from "../../../test/world/claim-books.ts";

interface World extends AsyncDisposable {
  readonly client: ObjectClient;
  readonly watched: WatchedClient;
  readonly clock: SteppedClock;
}

async function startWorld(): Promise<World> {
  const clock = new SteppedClock();
  const client = openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock });
  await client.create(Namespaces, { metadata: { name: "ns" } });
  const watched = new WatchedClient(client);
  const { log } = recordedLog();
  const cache = new SandboxCache({ client: watched.client, clock, log }, { claims: claimBook() });
  const metrics = prometheusMetrics(new Registry());
  const controller = startTemplateController({ client: watched.client, cache, clock, log, metrics, publicKey: "a2V5" });
  await cache.run();
  return {
    client,
    watched,
    clock,
    [Symbol.asyncDispose]: async () => {
      await controller.stop();
      await cache.stop();
      client.close();
    },
  };
}

const template = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] } };

async function usedBy(client: ObjectClient, pools: number): Promise<void> {
  await client.create(SandboxTemplates, { metadata: { name: "base" }, spec: { template } });
  for (let index = 0; index < pools; index++) {
    await client.create(SandboxPools, { metadata: { namespace: "ns", name: `p${index}` }, spec: { replicas: 1, templateName: "base" } });
  }
}

async function told(client: ObjectClient): Promise<string> {
  const { status } = await client.get(SandboxTemplates, { name: "base" });
  return (status?.conditions ?? []).map(({ reason }) => reason).join(" ");
}

test("many pools that change at once are a few writes of their template's status, and the last of them is true", async () => {
  await using world = await startWorld();
  const { client, watched, clock } = world;
  await usedBy(client, 30);
  await clock.step(5_000);
  watched.take();
  for (let change = 1; change <= 10; change++) {
    for (let index = 0; index < 30; index++) {
      const body = { status: { idleReplicas: change } };
      await client.patch(SandboxPools, { namespace: "ns", name: `p${index}` }, { type: "merge", body }, { subresource: "status" });
    }
    await clock.step(100);
  }
  await clock.step(2_000);
  const writes = watched.take();
  expect(writes.every((call) => call === "patch sandboxtemplates/status")).toBe(true);
  expect(writes.length).toBeLessThanOrEqual(2);
  const { status } = await client.get(SandboxTemplates, { name: "base" });
  expect(status?.conditions?.[0]?.message).toBe("300 idle pods in 30 pools can be claimed");
  await clock.step(60 * 60_000);
  expect(watched.take()).toEqual([]);
});

test("a template whose change was not seen yet is not written over", async () => {
  await using world = await startWorld();
  const { client, watched, clock } = world;
  await usedBy(client, 1);
  await clock.step(5_000);
  const late = Promise.withResolvers<void>();
  watched.late = { of: "sandboxtemplates", until: late.promise };
  await client.patch(SandboxTemplates, { name: "base" }, { type: "merge", body: { spec: { version: "v2.0.0" } } });
  await client.patch(
    SandboxPools,
    { namespace: "ns", name: "p0" },
    { type: "merge", body: { status: { idleReplicas: 1 } } },
    { subresource: "status" },
  );
  await clock.step(2_000);
  expect(await told(client)).toBe("NoPodsAvailable PoolsUpToDate PoolsHealthy");
  late.resolve();
  await clock.step(2_000);
  expect(await told(client)).toBe("PodsAvailable PoolsOutdated PoolsHealthy");
});

test("a template from which nothing can be made says so, unless its pools are to bring the pods", async () => {
  await using world = await startWorld();
  const { client, clock } = world;
  await client.create(SandboxTemplates, { metadata: { name: "base" }, spec: { template: { spec: { containers: [{ name: "main" }] } } } });
  await clock.step(1);
  expect(await told(client)).toBe("NotUsed NotUsed TemplateInvalid");
  await client.patch(
    SandboxTemplates,
    { name: "base" },
    { type: "merge", body: { spec: { template: null, idleImage: "registry.invalid/idle:1" } } },
  );
  await clock.step(2_000);
  expect(await told(client)).toBe("NotUsed NotUsed NotUsed");
});

test("a template that pools name stays when it is deleted, says for whom, and goes with the last of them", async () => {
  await using world = await startWorld();
  const { client, clock } = world;
  await usedBy(client, 1);
  await clock.step(2_000);
  await client.delete(SandboxTemplates, { name: "base" });
  await clock.step(2_000);
  const { metadata, status } = await client.get(SandboxTemplates, { name: "base" });
  expect(metadata.deletionTimestamp).toBeDefined();
  expect(status?.conditions?.find(({ type }) => type === "Degraded")).toMatchObject({
    reason: "DeletedInUse",
    message: expect.stringContaining("ns/p0"),
  });
  await client.delete(SandboxPools, { namespace: "ns", name: "p0" });
  await clock.step(2_000);
  expect((await client.list(SandboxTemplates)).items).toEqual([]);
});

test("a template that no pool names is gone when it is deleted", async () => {
  await using world = await startWorld();
  const { client, clock } = world;
  await usedBy(client, 0);
  await clock.step(2_000);
  await client.delete(SandboxTemplates, { name: "base" });
  expect((await client.list(SandboxTemplates)).items).toEqual([]);
});

test("a template whose pods the server would refuse says so, with the field, before and after it is corrected", async () => {
  await using world = await startWorld();
  const { client, clock } = world;
  const broken = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1", ports: [{ containerPort: 99_999 }] }] } };
  await client.create(SandboxTemplates, { metadata: { name: "base" }, spec: { template: broken } });
  await clock.step(2_000);
  const degraded = async () =>
    (await client.get(SandboxTemplates, { name: "base" })).status?.conditions?.find(({ type }) => type === "Degraded");
  expect(await degraded()).toMatchObject({ status: "True", reason: "TemplateInvalid" });
  expect((await degraded())?.message).toContain("spec.containers[0].ports[0].containerPort");
  await client.patch(SandboxTemplates, { name: "base" }, { type: "merge", body: { spec: { template } } });
  await clock.step(2_000);
  expect(await degraded()).toMatchObject({ status: "False", reason: "NotUsed" });
});
