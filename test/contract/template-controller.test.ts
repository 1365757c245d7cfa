import { Registry } from "prom-client";
import { afterEach, expect, test } from "vitest";
import { startTemplateController } from "#controllers/template/reconcile-template.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { systemClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { annotationKeys } from "#model/keys.ts";
import type { JsonObject } from "#model/meta.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { type SandboxTemplate, SandboxTemplates } from "#model/sandbox-template.ts";
import { gone, until } from "./helpers.ts";
import { aPool, aTemplate } from "./own-kinds.ts";
import { type ContractServer, describeServers } from "./servers.ts";
import { claimBook } from "../world/claim-books.ts";

describeServers("the template controller", (server) => {
  let stop = async (): Promise<void> => {};
  afterEach(() => stop());

  /** The namespace is also the name of the template, which belongs to no namespace. */
  async function started(running: ContractServer): Promise<string> {
    const namespace = await running.namespace();
    const { client } = running;
    const log = openLog({ clock: systemClock, out: { write: () => true } });
    const cache = new SandboxCache({ client, clock: systemClock, log }, { namespace, claims: claimBook() });
    const metrics = prometheusMetrics(new Registry());
    const controller = startTemplateController({ client, cache, clock: systemClock, log, metrics, publicKey: "key", statusEveryMs: 5 });
    stop = async () => {
      await controller.stop();
      await cache.stop();
      await client.delete(SandboxTemplates, { name: namespace });
    };
    await cache.run();
    return namespace;
  }

  const reasons = ({ status }: SandboxTemplate) => (status?.conditions ?? []).map(({ reason }) => reason).join(" ");
  const says = (name: string, wanted: string) =>
    until(server().client, SandboxTemplates, { name }, (template) => template !== undefined && reasons(template) === wanted);

  test("a template's conditions follow the pools that name it, and its own versions", async () => {
    const namespace = await started(server());
    const { client } = server();
    const key = { namespace, name: "py" };
    await client.create(SandboxTemplates, aTemplate(namespace, { version: "v1.0.0" }));
    await says(namespace, "NotUsed NotUsed NotUsed");
    const { template: _, ...spec } = aPool(namespace, "py").spec;
    const annotations = { [annotationKeys.templateVersion]: "v1.0.0" };
    await client.create(SandboxPools, { metadata: { ...key, annotations }, spec: { ...spec, templateName: namespace } });
    await says(namespace, "NoPodsAvailable PoolsUpToDate PoolsHealthy");
    const status: JsonObject = { idleReplicas: 2, unavailableIdleReplicas: 0 };
    await client.patch(SandboxPools, key, { type: "merge", body: { status } }, { subresource: "status" });
    await says(namespace, "PodsAvailable PoolsUpToDate PoolsHealthy");
    await client.patch(SandboxTemplates, { name: namespace }, { type: "merge", body: { spec: { version: "v1.1.0" } } });
    const template = await says(namespace, "PodsAvailable PoolsOutdated PoolsHealthy");
    expect(template?.status?.conditions?.[1]?.observedGeneration).toBe(template?.metadata.generation);
    await client.delete(SandboxPools, key);
    await gone(client, SandboxPools, key);
    await says(namespace, "NotUsed NotUsed NotUsed");
  });
});
