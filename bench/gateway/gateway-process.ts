/** Our gateway as a process of its own, with routes from a store with many sandboxes, as in production. Started by run.ts. */
import { Registry } from "prom-client";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { openObjectStore } from "#engines/embedded/store/object-store.ts";
import { ActivityWriter } from "#gateway/activity-writer.ts";
import { TrafficLog } from "#gateway/activity.ts";
import { Gateway } from "#gateway/gateway.ts";
import { listen } from "#gateway/listen.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { systemClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { Namespaces } from "#model/core-kinds.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { Pods } from "#model/pod.ts";
import { type GatewayOrder, sandboxName } from "./orders.ts";
import { claimBook } from "../../test/world/claim-books.ts";

const namespace = "default";

async function serve({ sandboxes }: GatewayOrder): Promise<number> {
  const clock = systemClock;
  const log = openLog({ clock, out: process.stderr });
  const client = openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock });
  const known = await client.list(Namespaces);
  if (!known.items.some(({ metadata }) => metadata.name === namespace)) await client.create(Namespaces, { metadata: { name: namespace } });
  for (let index = 0; index < sandboxes; index++) await addSandbox(client, sandboxName(index));
  const cache = new SandboxCache({ client, clock, log }, { claims: claimBook() });
  await cache.run();
  const traffic = new TrafficLog(clock);
  const metrics = prometheusMetrics(new Registry());
  const writer = new ActivityWriter({ client, cache, traffic, clock, log, metrics, random: Math.random });
  process.once("exit", () => writer.stop());
  const gateway = new Gateway({
    cache,
    traffic,
    log,
    metrics,
    ended: async () => undefined,
    wake: () => Promise.reject(new Error("nothing sleeps here")),
    trafficTokenOf: () => "",
    accessTokenOf: () => "",
    clock,
  });
  return (await listen(gateway, { host: "127.0.0.1", port: 0 })).port;
}

async function addSandbox(client: ReturnType<typeof openObjectStore>, id: string): Promise<void> {
  const labels = { [labelKeys.sandboxPool]: "bench", [labelKeys.sandboxPhase]: "running", [labelKeys.sandboxId]: id };
  const annotations = {
    [annotationKeys.sandboxId]: id,
    [annotationKeys.claimedAt]: new Date().toISOString(),
    [annotationKeys.idleTimeout]: "3600s",
  };
  await client.create(Pods, {
    metadata: { namespace, name: id, labels, annotations },
    spec: { containers: [{ name: "main", image: "host" }] },
  });
  const body = { status: { phase: "Running", podIP: "127.0.0.1" } };
  await client.patch(Pods, { namespace, name: id }, { type: "merge", body }, { subresource: "status" });
}

process.on("disconnect", () => process.exit(0));
process.once("message", (order: GatewayOrder) => void serve(order).then((port) => process.send?.(port)));
