import { Value } from "typebox/value";
import { afterAll, expect, test } from "vitest";
import { anEnvBody, autoscaled, EnvScene } from "../../../../test/world/env-service-scene.ts";
import { NativeApi } from "../../../../test/world/native-api.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import { envRoutes } from "./env-routes.ts";
import {
  autoscalingSchema,
  clustersSchema,
  envEventsSchema,
  envMemberSchema,
  envMembersSchema,
  envPageSchema,
  envSchema,
  groupSchema,
  groupsSchema,
  refreshSchema,
} from "#api/native/schemas/envs.ts";

const at = await EnvScene.open();
const api = await NativeApi.over(() => envRoutes(at), at.scene.clock);
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await at[Symbol.asyncDispose]();
});

const small = { inlineResources: { limits: { cpu: 1 } } };

/** Status, and what a problem is about. */
async function problem(...asked: Parameters<NativeApi["ask"]>): Promise<readonly unknown[]> {
  const { status, json } = await api.ask(...asked);
  const { code, field } = json as { readonly code?: string; readonly field?: string };
  return [status, code, field];
}

test("an Env is made, listed, read, replaced, refreshed and deleted, and what is answered is what the schemas say", async () => {
  const made = await api.ask("POST /v1/envs", { body: anEnvBody("py") });
  const { name = "" } = (made.json as SandboxEnv).metadata;
  expect([made.status, made.headers["location"]]).toEqual([201, `/v1/envs/${name}`]);
  expect(Value.Check(envSchema, made.json)).toBe(true);

  const list = await api.ask("GET /v1/envs?limit=10");
  expect([Value.Check(envPageSchema, list.json), (list.json as { envs: SandboxEnv[] }).envs.map(({ metadata }) => metadata.name)]).toEqual([
    true,
    [name],
  ]);
  const read = (await api.ask(`GET /v1/envs/${name}?namespace=default`)).json as SandboxEnv;
  const body = { ...read, spec: { ...read.spec, overrides: { defaultIdleTimeout: "5m" } } };
  const replaced = await api.ask(`PUT /v1/envs/${name}`, { body });
  expect([replaced.status, (replaced.json as SandboxEnv).spec.overrides]).toEqual([200, { defaultIdleTimeout: "5m" }]);
  expect(await problem(`PUT /v1/envs/${name}`, { body })).toEqual([409, "conflict", undefined]);

  const preview = await api.ask(`POST /v1/envs/${name}/refresh?dryRun=true`);
  expect([preview.status, Value.Check(refreshSchema, preview.json)]).toEqual([200, true]);
  expect((await api.ask(`POST /v1/envs/${name}/refresh`)).json).toMatchObject({ dryRun: false });
  const events = await api.ask(`GET /v1/envs/${name}/events`);
  expect([events.status, Value.Check(envEventsSchema, events.json)]).toEqual([200, true]);

  const deleted = await api.ask(`DELETE /v1/envs/${name}?endSandboxes=true`);
  expect([deleted.status, deleted.text]).toEqual([202, ""]);
});

test("members are added, read, changed, scaled and removed", async () => {
  const { json } = await api.ask("POST /v1/envs", { by: "admin", body: anEnvBody("m", { members: [{ config: small }] }) });
  expect((json as SandboxEnv).metadata.name).toBe("m");
  const added = await api.ask("POST /v1/envs/m/members", { by: "admin", body: { config: small, replicas: 2 } });
  expect([added.status, added.headers["location"], added.json]).toMatchObject([
    201,
    "/v1/envs/m/members/m-1c-2",
    { name: "m-1c-2", replicas: 2 },
  ]);
  expect(Value.Check(envMemberSchema, added.json)).toBe(true);
  expect((await api.ask("PUT /v1/envs/m/members/m-1c-2/scale", { by: "admin", body: { replicas: 3 } })).json).toMatchObject({
    replicas: 3,
  });
  const config = { ...small, priority: 5 };
  expect((await api.ask("PUT /v1/envs/m/members/m-1c-2", { by: "admin", body: { config } })).json).toMatchObject({ config, replicas: 3 });
  const all = await api.ask("GET /v1/envs/m/members");
  expect([Value.Check(envMembersSchema, all.json), all.json]).toMatchObject([true, { members: [{ name: "m-1c" }, { name: "m-1c-2" }] }]);
  expect((await api.ask("DELETE /v1/envs/m/members/m-1c-2", { by: "admin" })).status).toBe(202);
  expect(await problem("GET /v1/envs/m/members/m-1c-2")).toEqual([404, "not_found", undefined]);
});

test("policies of groups are set, shown with what they do, and taken away", async () => {
  await api.ask("POST /v1/envs", { by: "admin", body: anEnvBody("g", {}, { autoscaling: autoscaled(1, 4) }) });
  expect(await problem("PUT /v1/envs/g/members/g-2c4gi/scale", { by: "admin", body: { replicas: 3 } })).toEqual([
    409,
    "conflict",
    "replicas",
  ]);
  const shown = await api.ask("GET /v1/envs/g/autoscaling");
  expect([Value.Check(autoscalingSchema, shown.json), shown.json]).toMatchObject([
    true,
    { groups: [{ name: "default", enabled: true, policy: { maxReplicas: 4 } }] },
  ]);
  const put = await api.ask("PUT /v1/envs/g/groups/default", { by: "admin", body: { enabled: false, maxReplicas: 9 } });
  expect([put.status, Value.Check(groupSchema, put.json), put.json]).toMatchObject([
    200,
    true,
    { name: "default", enabled: false, maxReplicas: 9 },
  ]);
  expect((await api.ask("GET /v1/envs/g/groups/default")).json).toEqual(put.json);
  expect(Value.Check(groupsSchema, (await api.ask("GET /v1/envs/g/groups")).json)).toBe(true);
  expect(await problem("PUT /v1/envs/g/groups/default", { by: "admin", body: { size: 3 } })).toEqual([400, "invalid_request", "size"]);
  expect((await api.ask("DELETE /v1/envs/g/groups/default", { by: "admin" })).status).toBe(204);
  expect(await problem("DELETE /v1/envs/g/groups/default", { by: "admin" })).toEqual([404, "not_found", undefined]);
});

test("clusters are told to every caller", async () => {
  const { json } = await api.ask("GET /v1/clusters", { by: "eve" });
  expect([Value.Check(clustersSchema, json), json]).toMatchObject([
    true,
    { clusters: [{ id: "local", engine: "embedded", isLocal: true }] },
  ]);
});

test("what is wrong with a request is named where it stands", async () => {
  const body = anEnvBody("w");
  const day = { name: "day", start: "0 25 * * *", durationSeconds: 60, minReplicas: 1 };
  const badSchedule = { name: "default", schedules: [day] };
  const wrong: readonly (readonly [string, unknown, string])[] = [
    ["POST /v1/envs", {}, "metadata"],
    ["POST /v1/envs", { ...body, colour: "blue" }, "colour"],
    ["POST /v1/envs", { ...body, spec: { ...body.spec, mode: "Cold" } }, "spec.mode"],
    ["POST /v1/envs", { ...body, spec: { ...body.spec, size: 3 } }, "spec.size"],
    ["POST /v1/envs", { ...body, members: [{ replicas: -1 }] }, "members[0].replicas"],
    ["POST /v1/envs", { ...body, members: [{ size: 1 }] }, "members[0].size"],
    ["POST /v1/envs", { ...body, imagePullSecret: { registry: "r.example.com", username: "u" } }, "imagePullSecret"],
    ["POST /v1/envs", { ...body, members: [] }, "spec.clusters"],
    [
      "POST /v1/envs",
      { ...body, spec: { ...body.spec, autoscaling: { groups: [badSchedule] } } },
      "spec.autoscaling.groups[0].schedules[0].start",
    ],
    ["GET /v1/envs?cursor=nonsense", undefined, "query.cursor"],
    ["POST /v1/envs/w/refresh?dryRun=maybe", undefined, "query.dryRun"],
  ];
  for (const [what, sent, field] of wrong)
    expect([what, ...(await problem(what, { body: sent }))]).toEqual([what, 400, "invalid_request", field]);
});

test("I8: a foreign Env is the same answer as none, on every route", async () => {
  const { name = "" } = ((await api.ask("POST /v1/envs", { body: anEnvBody("mine") })).json as SandboxEnv).metadata;
  const none = "xx".padEnd(name.length, "x");
  const routes = envRoutes(at)
    .filter(({ path }) => path.startsWith("/envs/{envName}"))
    .map(({ method, path }) => `${method} /v1${path.replace("{memberName}", "m").replace("{groupName}", "g")}`);
  expect(routes.length).toBeGreaterThan(12);
  const bodyOf = (what: string): unknown => {
    if (/^(GET|DELETE|POST .*refresh)/.test(what)) return undefined;
    if (what.endsWith("scale")) return { replicas: 1 };
    return what.endsWith("{envName}") ? { metadata: {}, spec: anEnvBody("x").spec } : {};
  };
  for (const what of routes) {
    const answers = await Promise.all(
      [name, none].map(async (one) => {
        const asked = { by: "eve", body: bodyOf(what), headers: { "x-request-id": "r" } } as const;
        const { status, text } = await api.ask(what.replace("{envName}", one), asked);
        return `${what} ${status} ${text.replaceAll(one, "…")}`;
      }),
    );
    expect(answers[0]).toBe(answers[1]);
    expect(answers[0]).toContain(`${what} 404 `);
  }
  expect((await api.ask("GET /v1/envs", { by: "eve" })).text).not.toContain("mine");
});

test("credentials in a body are in no answer and in no log", async () => {
  const imagePullSecret = { registry: "r.example.com", username: "robot", password: "hunter2hunter2" };
  const made = await api.ask("POST /v1/envs", { by: "admin", body: anEnvBody("s", { imagePullSecret }) });
  expect(made.status).toBe(201);
  expect(JSON.stringify([made, await api.ask("GET /v1/envs/s"), api.logged.lines])).not.toContain("hunter2");
});
