/** Both REST APIs on a real port, over real use cases: with a sandbox of ann's and one of eve's, and no room for more. */
import { webhookService } from "#services/webhooks/webhook-service.ts";
import { generateKeyPairSync } from "node:crypto";
import { Registry } from "prom-client";
import { apiServer } from "#api/http/api-server.ts";
import { drainServer, listenAt } from "#api/http/listen.ts";
import { e2bFace } from "#api/e2b/e2b-face.ts";
import { fleetFace } from "#api/native/fleet-routes.ts";
import type { ExecRequest } from "#services/sandbox-service.ts";
import { nativeFace } from "#api/native/native-routes.ts";
import { PodAccessError } from "#kube/pod-access.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { annotationKeys } from "#model/keys.ts";
import { createSources } from "#services/creating/create-sources.ts";
import { ExecTokens } from "#services/inside/exec-tokens.ts";
import { unable } from "#engine-port/abilities.ts";
import { openCheckpointService } from "#services/checkpoints/checkpoint-service.ts";
import { openSandboxService } from "#services/open-sandbox-service.ts";
import { envService } from "#services/envs/env-service.ts";
import { poolService } from "#services/pools/pool-service.ts";
import type { Caller } from "#services/caller.ts";
import { sandboxStatistics } from "#services/reading/sandbox-statistics.ts";
import { sandboxUsage } from "#services/usage/sandbox-usage.ts";
import { UsageLog } from "#services/usage/usage-log.ts";
import { ServiceError } from "#services/service-error.ts";
import { templateService } from "#services/templates/template-service.ts";
import { recordedLog } from "../world/recorded-log.ts";
import { ann, ServiceScene } from "../world/service-scene.ts";
import { noVolumes } from "../world/no-volumes.ts";

/** In all that there is about eve's sandbox, and in nothing that ann may see. */
export const canary = "only-eve-knows";

export interface FuzzedApis extends AsyncDisposable {
  readonly port: number;
  readonly errors: () => readonly unknown[];
}

const callers = new Map([["ann", ann]]);

export async function fuzzedApis(): Promise<FuzzedApis> {
  const scene = await ServiceScene.open();
  await scene.sandbox("i1");
  await scene.record("i2");
  const metadata = { annotations: { [annotationKeys.sandboxMetadata]: JSON.stringify({ canary }) } };
  await scene.sandbox("i3", { team: "blue", user: "eve", ...metadata });
  await scene.record("i4", { team: "blue", user: "eve", failureMessage: canary });
  const logged = recordedLog();
  const { client, cache, history, pods, live, activity, clock, abilities } = scene;
  pods.failure = new PodAccessError("not_running", "nothing runs here");
  const noRoom = async () => Promise.reject(new ServiceError("no_capacity", "there is no pod", { retryAfterSeconds: 1 }));
  const claims = { create: noRoom, createMany: noRoom, end: async () => {} };
  const { log } = logged;
  const sandboxes = openSandboxService({ client, cache, history, pods, live, activity, clock, log, claims, abilities });
  const pools = poolService(scene);
  // There is no node here that could take any: a request would wait.
  const unableToTake = { checkpoint: () => unable("no node"), memoryCheckpoint: () => unable("no node") };
  const checkpoints = openCheckpointService({ client, cache, history, clock, log, claims, abilities: unableToTake });
  const execTokens = new ExecTokens<ExecRequest>({
    clock,
    privateKey: generateKeyPairSync("ed25519").privateKey,
    keys: { isLive: () => true },
  });
  const sampler = { ask: async () => {}, log: new UsageLog(), limitsOf: () => undefined };
  const e2bServices = {
    sandboxes,
    checkpoints,
    sources: createSources(scene),
    usage: sandboxUsage({ cache, sampler }),
    webhooks: webhookService({ client, history: scene.history, clock, namespace: scene.namespace, guard: { ofTeam: () => undefined } }),
    statistics: (caller: Caller, wanted: { readonly since?: string }) => sandboxStatistics(scene, caller, wanted),
    accessTokenOf: (id: string) => `access-${id}`,
    trafficTokenOf: (id: string) => `traffic-${id}`,
    domain: "box.test",
    maxTimeoutSeconds: 3600,
    sizeOf: () => ({ cpu: "1", memory: "1Gi", disk: "1Gi" }),
  };
  const app = await apiServer({
    keys: { authenticate: (key) => callers.get(key), whenEnded: () => () => {} },
    clock,
    log,
    metrics: prometheusMetrics(new Registry()),
    rateLimit: { perSecond: 0, burst: 0 },
    faces: [
      nativeFace({ sandboxes, checkpoints, execTokens, clock, log }),
      fleetFace({
        pools,
        envs: envService({ client, cache, namespace: scene.namespace, cluster: { engine: "embedded", id: "local" } }),
        templates: templateService(scene),
        volumes: noVolumes,
        statistics: (caller, wanted) => sandboxStatistics(scene, caller, wanted),
      }),
      e2bFace({ ...e2bServices, volumes: noVolumes }),
    ],
    ready: () => true,
    metricsText: async () => ({ contentType: "text/plain", text: "" }),
  });
  const url = await listenAt(app, { host: "127.0.0.1", port: 0 });
  return {
    port: Number(new URL(url).port),
    errors: () => logged.lines.filter(({ level }) => level === "error").slice(0, 1),
    [Symbol.asyncDispose]: async () => {
      await drainServer(app, 0);
      await scene[Symbol.asyncDispose]();
    },
  };
}
