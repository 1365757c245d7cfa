import { Value } from "typebox/value";
import { expect, test } from "vitest";
import { NativeApi } from "../../../../test/world/native-api.ts";
import { ServiceScene } from "../../../../test/world/service-scene.ts";
import { webhookService } from "#services/webhooks/webhook-service.ts";
import { deliveriesSchema, webhookSchema } from "#api/native/schemas/webhooks.ts";
import { webhookRoutes } from "./webhook-routes.ts";

class Webhooks implements AsyncDisposable {
  readonly scene: ServiceScene;
  readonly api: NativeApi;

  private constructor(scene: ServiceScene, api: NativeApi) {
    this.scene = scene;
    this.api = api;
  }

  static async open(): Promise<Webhooks> {
    const scene = await ServiceScene.open();
    const { client, history, clock, namespace } = scene;
    const webhooks = webhookService({ client, history, clock, namespace, guard: { ofTeam: () => undefined } });
    return new Webhooks(scene, await NativeApi.over(() => webhookRoutes({ webhooks }), scene.clock));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.api[Symbol.asyncDispose]();
    await this.scene[Symbol.asyncDispose]();
  }
}

const wish = { name: "mine", url: "https://hooks.test/in", events: ["sandbox.lifecycle.killed"], signatureSecret: "very private" };

test("a webhook is made, shown, changed and deleted, and its secret is in no answer", async () => {
  await using one = await Webhooks.open();
  const { api } = one;
  const made = await api.ask("POST /v1/webhooks", { body: wish });
  const { id } = made.json as { readonly id: string };
  expect([made.status, Value.Check(webhookSchema, made.json)]).toEqual([201, true]);
  expect(made.json).toMatchObject({ name: "mine", enabled: true, team: "red", user: "ann", events: wish.events });
  const changed = await api.ask(`PATCH /v1/webhooks/${id}`, { body: { enabled: false, signatureSecret: "still private" } });
  expect(changed.json).toMatchObject({ name: "mine", enabled: false, events: wish.events });
  const listed = await api.ask("GET /v1/webhooks");
  expect(listed.json).toEqual({ webhooks: [changed.json] });
  for (const { text } of [made, changed, listed]) expect(text).not.toContain("private");
  expect((await api.ask(`DELETE /v1/webhooks/${id}`)).status).toBe(204);
  expect((await api.ask(`GET /v1/webhooks/${id}`)).status).toBe(404);
});

test("I8: a webhook of another team answers as if it did not exist", async () => {
  await using one = await Webhooks.open();
  const { api } = one;
  const { id } = (await api.ask("POST /v1/webhooks", { body: wish })).json as { readonly id: string };
  expect((await api.ask("GET /v1/webhooks", { by: "eve" })).json).toEqual({ webhooks: [] });
  for (const asked of [`GET /v1/webhooks/${id}`, `GET /v1/webhooks/${id}/deliveries`, `DELETE /v1/webhooks/${id}`])
    expect((await api.ask(asked, { by: "eve" })).status).toBe(404);
});

test("an event that there is not, and a field that there is not, are refused where they stand", async () => {
  await using one = await Webhooks.open();
  const ask = async (body: object) => (await one.api.ask("POST /v1/webhooks", { body: { ...wish, ...body } })).json;
  expect(await ask({ events: ["killed"] })).toMatchObject({ code: "invalid_request", field: "events[0]" });
  expect(await ask({ events: [] })).toMatchObject({ code: "invalid_request", field: "events" });
  expect(await ask({ secret: "x" })).toMatchObject({ code: "invalid_request", field: "secret" });
  expect(await ask({ url: "ftp://hooks.test" })).toMatchObject({ code: "invalid_request", field: "url" });
});

test("what a webhook has not taken is shown with the last failure", async () => {
  await using one = await Webhooks.open();
  const { api, scene } = one;
  const { id } = (await api.ask("POST /v1/webhooks", { body: wish })).json as { readonly id: string };
  const at = new Date(scene.clock.now()).toISOString();
  const event = { id: "e1", sandboxId: "s1", type: "killed", at, team: "red", user: "ann", template: "base", data: null } as const;
  await scene.history.events.append(event, [id]);
  const [due] = await scene.history.events.due(id, scene.clock.now() + 1000, 1);
  await scene.history.events.failed(due?.id ?? 0, { attempts: 3, dueMs: scene.clock.now(), error: "answered 500", isDead: true });
  const { json } = await api.ask(`GET /v1/webhooks/${id}/deliveries`);
  expect(Value.Check(deliveriesSchema, json)).toBe(true);
  expect(json).toMatchObject({
    deliveries: [{ state: "dead", attempts: 3, lastError: "answered 500", event: "sandbox.lifecycle.killed", sandboxId: "s1" }],
  });
});

test("where no events are noted, webhooks are said to be missing", async () => {
  await using scene = await ServiceScene.open();
  await using api = await NativeApi.over(() => webhookRoutes({}), scene.clock);
  expect(await api.ask("GET /v1/webhooks")).toMatchObject({ status: 501, json: { code: "not_implemented" } });
});
