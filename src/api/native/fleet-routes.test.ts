import { Value } from "typebox/value";
import { expect, test } from "vitest";
import { NativeApi } from "../../../test/world/native-api.ts";
import { namespace, ServiceScene } from "../../../test/world/service-scene.ts";
import { Events } from "#model/core-kinds.ts";
import { labelKeys } from "#model/keys.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import { envService } from "#services/envs/env-service.ts";
import { poolService } from "#services/pools/pool-service.ts";
import { sandboxStatistics } from "#services/reading/sandbox-statistics.ts";
import { templateService } from "#services/templates/template-service.ts";
import { noVolumes } from "../../../test/world/no-volumes.ts";
import { fleetRoutes } from "./fleet-routes.ts";
import { statisticsSchema, whoamiSchema } from "./schemas/about.ts";
import { eventsSchema, poolPageSchema, poolSchema, templatePageSchema, templateSchema } from "./schemas/objects.ts";

const pod = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] } };
const template = { metadata: { name: "base" }, spec: { template: pod } };
const pool = (name: string, spec: object = {}) => ({ metadata: { name }, spec: { replicas: 1, templateName: "base", ...spec } });

/** The real use cases behind the routes, with a template `base` that is visible to all. */
class Fleet implements AsyncDisposable {
  readonly scene: ServiceScene;
  readonly api: NativeApi;

  private constructor(scene: ServiceScene, api: NativeApi) {
    this.scene = scene;
    this.api = api;
  }

  static async open(): Promise<Fleet> {
    const scene = await ServiceScene.open();
    const services = {
      pools: poolService(scene),
      envs: envService({
        client: scene.client,
        cache: scene.cache,
        namespace: scene.namespace,
        cluster: { engine: "embedded", id: "local" },
      }),
      templates: templateService(scene),
      volumes: noVolumes,
      statistics: (...asked: Parameters<Parameters<typeof fleetRoutes>[0]["statistics"]>) => sandboxStatistics(scene, ...asked),
    };
    const api = await NativeApi.over(() => fleetRoutes(services), scene.clock);
    await api.ask("POST /v1/templates", { by: "admin", body: template });
    return new Fleet(scene, api);
  }

  /** Status, and what a problem is about. */
  async problem(...asked: Parameters<NativeApi["ask"]>): Promise<readonly unknown[]> {
    const { status, json } = await this.api.ask(...asked);
    const { code, field } = json as { readonly code?: string; readonly field?: string };
    return [status, code, field];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.api[Symbol.asyncDispose]();
    await this.scene[Symbol.asyncDispose]();
  }
}

test("a pool is made, listed, read, scaled, replaced and deleted, and what is answered is what the schemas say", async () => {
  await using fleet = await Fleet.open();
  const { api } = fleet;
  const made = await api.ask("POST /v1/pools", { body: pool("py") });
  const created = made.json as SandboxPool;
  const { name = "" } = created.metadata;
  expect([made.status, made.headers["location"]]).toEqual([201, `/v1/pools/${name}`]);
  expect(Value.Check(poolSchema, created)).toBe(true);

  const list = await api.ask("GET /v1/pools?limit=10");
  expect(Value.Check(poolPageSchema, list.json)).toBe(true);
  expect((list.json as { pools: SandboxPool[] }).pools.map(({ metadata }) => metadata.name)).toEqual([name]);

  const scaled = await api.ask(`PUT /v1/pools/${name}/scale`, { body: { replicas: 3 } });
  expect([scaled.status, (scaled.json as SandboxPool).spec.replicas]).toEqual([200, 3]);

  const read = await api.ask(`GET /v1/pools/${name}?namespace=${namespace}`);
  const replaced = await api.ask(`PUT /v1/pools/${name}`, {
    body: { ...(read.json as SandboxPool), spec: pool("py", { replicas: 2 }).spec },
  });
  expect([replaced.status, (replaced.json as SandboxPool).spec.replicas]).toEqual([200, 2]);

  const deleted = await api.ask(`DELETE /v1/pools/${name}`);
  expect([deleted.status, deleted.text]).toEqual([202, ""]);
});

test("a template is made, listed, read, replaced and deleted by admins, and is visible to everyone", async () => {
  await using fleet = await Fleet.open();
  const { api } = fleet;
  const list = await api.ask("GET /v1/templates");
  expect(Value.Check(templatePageSchema, list.json)).toBe(true);
  const one = await api.ask("GET /v1/templates/base");
  expect(Value.Check(templateSchema, one.json)).toBe(true);
  const body = { ...(one.json as SandboxTemplate), spec: { ...template.spec, description: "second" } };
  expect((await api.ask("PUT /v1/templates/base", { by: "admin", body })).json).toMatchObject({ spec: { description: "second" } });
  expect(await fleet.problem("PUT /v1/templates/base", { by: "admin", body })).toEqual([409, "conflict", undefined]);
  expect(await fleet.problem("PUT /v1/templates/base", { body })).toEqual([403, "forbidden", undefined]);
  expect(await fleet.problem("POST /v1/templates", { by: "admin", body: template })).toEqual([409, "conflict", "metadata.name"]);
  expect((await api.ask("DELETE /v1/templates/base", { by: "admin" })).status).toBe(204);
  expect(await fleet.problem("GET /v1/templates/base")).toEqual([404, "not_found", undefined]);
});

test("a template's docs are shown to the users that see it, with their values filled in", async () => {
  await using fleet = await Fleet.open();
  const { api } = fleet;
  expect((await api.ask("GET /v1/templates/base/docs")).json).toEqual({ markdown: "" });
  const docs = { "agentbox.navix.sh/docs": "# {{template}}\nFor {{team}}, at {{apiUrl}}" };
  const body = { ...template, metadata: { ...template.metadata, annotations: docs } };
  expect((await api.ask("PUT /v1/templates/base", { by: "admin", body })).status).toBe(200);
  const { markdown } = (await api.ask("GET /v1/templates/base/docs")).json as { readonly markdown: string };
  expect(markdown).toMatch(/^# base\nFor red, at https?:\/\/\S+$/);
  expect(await fleet.problem("GET /v1/templates/none/docs")).toEqual([404, "not_found", undefined]);
});

test("what is wrong with a request is named where it stands, and nothing is changed", async () => {
  await using fleet = await Fleet.open();
  const wrong: readonly (readonly [string, unknown, string])[] = [
    ["POST /v1/pools", {}, "metadata"],
    ["POST /v1/pools", { ...pool("py"), colour: "blue" }, "colour"],
    ["POST /v1/pools", pool("py", { replicas: "3" }), "spec.replicas"],
    ["POST /v1/pools", pool("py", { replicas: -3 }), "spec.replicas"],
    ["POST /v1/pools", pool("py", { size: 3 }), "spec.size"],
    ["POST /v1/pools", pool("py", { templateName: "none" }), "spec.templateName"],
    [
      "POST /v1/pools",
      { ...pool("py"), metadata: { name: "py", labels: { [labelKeys.team]: "blue" } } },
      `metadata.labels.${labelKeys.team}`,
    ],
    ["POST /v1/pools", { ...pool("py"), metadata: { name: "py", nmae: "x" } }, "metadata.nmae"],
    ["GET /v1/pools?limit=0", undefined, "query.limit"],
    ["GET /v1/pools?cursor=nonsense", undefined, "query.cursor"],
    ["GET /v1/pools?page=2", undefined, "query.page"],
    ["GET /v1/statistics/sandboxes?since=yesterday", undefined, "query.since"],
  ];
  for (const [what, body, field] of wrong)
    expect([what, ...(await fleet.problem(what, { body }))]).toEqual([what, 400, "invalid_request", field]);
  const { name = "" } = ((await fleet.api.ask("POST /v1/pools", { body: pool("py") })).json as SandboxPool).metadata;
  for (const replicas of [-1, 1.5, "3", 100_001]) {
    expect(await fleet.problem(`PUT /v1/pools/${name}/scale`, { body: { replicas } })).toEqual([400, "invalid_request", "replicas"]);
  }
  expect(await fleet.problem(`PUT /v1/pools/${name}/scale`, { body: {} })).toEqual([400, "invalid_request", "replicas"]);
  expect(await fleet.problem(`PUT /v1/pools/${name}`, { body: pool("other") })).toEqual([400, "invalid_request", "metadata.name"]);
});

test("I8: a foreign pool is the same answer as none, on every route", async () => {
  await using fleet = await Fleet.open();
  const { name = "" } = ((await fleet.api.ask("POST /v1/pools", { body: pool("py") })).json as SandboxPool).metadata;
  const none = "xx".padEnd(name.length, "x");
  const routes = [
    ["GET /v1/pools/NAME", undefined],
    ["GET /v1/pools/NAME/events", undefined],
    ["PUT /v1/pools/NAME/scale", { replicas: 0 }],
    ["PUT /v1/pools/NAME", { metadata: {}, spec: pool("py").spec }],
    ["DELETE /v1/pools/NAME", undefined],
  ] as const;
  for (const [what, body] of routes) {
    const answers = await Promise.all(
      [name, none].map(async (one) => {
        const { status, text } = await fleet.api.ask(what.replace("NAME", one), { by: "eve", body, headers: { "x-request-id": "r" } });
        return `${status} ${text.replaceAll(one, "…")}`;
      }),
    );
    expect(answers[0]).toBe(answers[1]);
    expect(answers[0]).toMatch(/^404 /);
  }
  expect((await fleet.api.ask("GET /v1/pools", { by: "eve" })).json).toEqual({ pools: [] });
});

test("events of a pool are listed", async () => {
  await using fleet = await Fleet.open();
  const { name = "", uid = "" } = ((await fleet.api.ask("POST /v1/pools", { body: pool("py") })).json as SandboxPool).metadata;
  await fleet.scene.client.create(Events, {
    metadata: { namespace, name: "e-1" },
    involvedObject: { kind: "SandboxPool", namespace, name, uid },
    type: "Warning",
    reason: "Degraded",
    message: "no pods",
    lastTimestamp: "2026-01-01T00:00:00Z",
  });
  const { json } = await fleet.api.ask(`GET /v1/pools/${name}/events`);
  expect(json).toMatchObject({ events: [{ type: "Warning", reason: "Degraded", message: "no pods", count: 1 }] });
  expect(Value.Check(eventsSchema, json)).toBe(true);
});

test("each caller's own sandboxes are counted", async () => {
  await using fleet = await Fleet.open();
  await fleet.scene.sandbox("i-1");
  await fleet.scene.record("o-1");
  const { json } = await fleet.api.ask("GET /v1/statistics/sandboxes");
  expect(json).toMatchObject({ live: { total: 1 }, ended: { total: 1 } });
  expect(Value.Check(statisticsSchema, json)).toBe(true);
  expect((await fleet.api.ask("GET /v1/statistics/sandboxes", { by: "eve" })).json).toMatchObject({
    live: { total: 0 },
    ended: { total: 0 },
  });
});

test("each caller is told its identity, and an admin the identity that it acts as", async () => {
  await using fleet = await Fleet.open();
  const { json } = await fleet.api.ask("GET /v1/auth/whoami");
  expect(json).toEqual({ role: "tenant", team: "red", user: "ann", keyId: "k-ann" });
  expect(Value.Check(whoamiSchema, json)).toBe(true);
  const acting = await fleet.api.ask("GET /v1/auth/whoami", { by: "admin", headers: { "x-impersonate-team": "blue" } });
  expect(acting.json).toEqual({ role: "tenant", team: "blue", keyId: "k-admin" });
});
