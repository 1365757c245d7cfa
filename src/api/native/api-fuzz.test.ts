/** For any request, the answer is one that the document allows, and never a server error. */
import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Answered, NativeApi } from "../../../test/world/native-api.ts";
import { ServiceScene } from "../../../test/world/service-scene.ts";
import { PodAccessError } from "#kube/pod-access.ts";
import { ExecTokens } from "#services/inside/exec-tokens.ts";
import { unable } from "#engine-port/abilities.ts";
import { openCheckpointService } from "#services/checkpoints/checkpoint-service.ts";
import { openSandboxService } from "#services/open-sandbox-service.ts";
import { envService } from "#services/envs/env-service.ts";
import { poolService } from "#services/pools/pool-service.ts";
import type { ExecRequest } from "#services/sandbox-service.ts";
import { sandboxStatistics } from "#services/reading/sandbox-statistics.ts";
import { ServiceError } from "#services/service-error.ts";
import { templateService } from "#services/templates/template-service.ts";
import { noVolumes } from "../../../test/world/no-volumes.ts";
import { fleetRoutes, type FleetServices, wholeApi } from "./fleet-routes.ts";
import { nativeRoutes } from "./native-routes.ts";
import type { Route } from "./route.ts";

function servicesOf(scene: ServiceScene): FleetServices {
  return {
    pools: poolService(scene),
    envs: envService({
      client: scene.client,
      cache: scene.cache,
      namespace: scene.namespace,
      cluster: { engine: "embedded", id: "local" },
    }),
    templates: templateService(scene),
    volumes: noVolumes,
    statistics: (caller, wanted) => sandboxStatistics(scene, caller, wanted),
  };
}

const container = { name: "main", image: "registry.invalid/app:1" };
const good = {
  metadata: { name: "py" },
  spec: { replicas: 1, templateName: "base", template: { spec: { containers: [container] } } },
};

const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>({}, [], null, -1, 1e300, "", "constructor", "\u0000", "1h", "0", "999999h", { __proto__: 1, toString: 1 }),
);

/** The good body with one of its parts replaced by anything. */
const spoiled = fc
  .tuple(
    fc.constantFrom(
      ["metadata"],
      ["metadata", "name"],
      ["metadata", "labels"],
      ["metadata", "namespace"],
      ["metadata", "resourceVersion"],
      ["spec"],
      ["spec", "replicas"],
      ["spec", "template"],
      ["spec", "templateName"],
      ["spec", "runtimes"],
      ["spec", "visibility"],
      ["kind"],
      ["status"],
    ),
    odd,
  )
  .map(([path, value]) => replaced(good, path, value));

function replaced(object: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  const inner = (object as Readonly<Record<string, unknown>>)[key];
  return { ...(object as object), [key]: rest.length === 0 ? value : replaced(inner ?? {}, rest, value) };
}

const body = fc.oneof(spoiled, fc.jsonValue({ maxDepth: 3 }), fc.constant(good), fc.constant({ replicas: 3 }), fc.constant(undefined));
const name = fc.oneof(
  fc.constantFrom("i-1", "i-2", "py", "base", "none", "constructor", "%00", "%zz", "a%2Fb", "..%2f..", "x".repeat(300)),
  fc.webSegment(),
);
const query = fc.oneof(
  fc.constantFrom("", "limit=1", "limit=9999", "cursor=%00", "namespace=", "since=2026", "namespace=default"),
  fc.webQueryParameters(),
);

const { paths } = wholeApi();

function isTold({ status, json }: Answered, what: string): boolean {
  const known = paths[what.split(" ")[1] ?? ""]?.[what.split(" ")[0]?.toLowerCase() ?? ""];
  if (status < 400) return known?.responses[String(status)] !== undefined;
  const { code, status: told } = json as { readonly code?: string; readonly status?: number };
  return code !== undefined && told === status;
}

const create = { poolName: "py", count: 2, sandbox: { poolName: "py" }, command: ["true"], lifetime: "1h", idleTimeout: "5m" };
const spoiledCreate = fc
  .record({
    key: fc.constantFrom(...Object.keys(create), "envVars", "metadata", "labels", "postStartHooks", "timeout", "stdin", "endTime"),
    value: odd,
  })
  .map(({ key, value }) => ({ ...create, [key]: value }));
const oneField = fc
  .record({ key: fc.constantFrom("poolName", "command", "lifetime", "idleTimeout", "endTime", "onlyLater"), value: odd })
  .map(({ key, value }) => ({ [key]: value }));

/** Routes that answer at once: the others wait for events that do not happen here. */
const waits = /\/(?:watch|stream|terminal|pause|resume)$/;

function sandboxesOver(scene: ServiceScene): Parameters<typeof nativeRoutes>[0] {
  scene.pods.failure = new PodAccessError("not_running", "nothing runs here");
  const noRoom = async () => Promise.reject(new ServiceError("no_capacity", "there is no pod", { retryAfterSeconds: 1 }));
  const claims = { create: noRoom, createMany: noRoom, end: async () => {} };
  const { client, cache, history, pods, live, activity, clock, log, abilities } = scene;
  const sandboxes = openSandboxService({ client, cache, history, pods, live, activity, clock, log, claims, abilities });
  // There is no node here that could take any: a request would wait.
  const unableToTake = { checkpoint: () => unable("no node"), memoryCheckpoint: () => unable("no node") };
  const checkpoints = openCheckpointService({ client, cache, history, clock, log, claims, abilities: unableToTake });
  const execTokens = new ExecTokens<ExecRequest>({
    clock,
    privateKey: generateKeyPairSync("ed25519").privateKey,
    keys: { isLive: () => true },
  });
  return { sandboxes, checkpoints, execTokens, clock, log };
}

async function expectTold(api: NativeApi, routes: readonly Route[], bodies: fc.Arbitrary<unknown>): Promise<void> {
  const operations = routes.filter(({ path }) => !waits.test(path)).map(({ method, path }) => `${method} /v1${path}`);
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...operations), name, query, bodies, async (what, given, asked, sent) => {
      const url = `${what.replace(/\{\w+\}/, given)}${asked === "" ? "" : `?${asked}`}`;
      const mayHaveBody = what.startsWith("POST") || what.startsWith("PUT");
      const answer = await api.ask(url, { by: url.length % 2 === 0 ? "admin" : "ann", ...(mayHaveBody ? { body: sent } : {}) });
      expect([url, answer.status === 500 ? answer.text : "", isTold(answer, what)]).toEqual([url, "", true]);
    }),
    { numRuns: 1000 },
  );
  expect(api.logged.lines.filter(({ level }) => level === "error")).toEqual([]);
}

test("no request about pools and templates gets a server error, or an answer that the document does not have", async () => {
  await using scene = await ServiceScene.open();
  const routes = fleetRoutes(servicesOf(scene));
  await using api = await NativeApi.over(() => routes, scene.clock);
  await expectTold(api, routes, body);
});

test("no request about sandboxes gets a server error, or an answer that the document does not have", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  await scene.record("i-2");
  const routes = nativeRoutes(sandboxesOver(scene));
  await using api = await NativeApi.over(() => routes, scene.clock);
  await expectTold(api, routes, fc.oneof(spoiledCreate, oneField, fc.jsonValue({ maxDepth: 3 }), fc.constant(undefined)));
});
