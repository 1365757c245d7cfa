import { expect, test } from "vitest";
import { E2bScene } from "../../../test/world/e2b-scene.ts";
import type { SandboxEvent } from "#model/sandbox-event.ts";
import type { WebhookService, WebhookView } from "#services/webhooks/webhook-service.ts";

const event: SandboxEvent = {
  id: "e1",
  sandboxId: "abc",
  type: "killed",
  at: "2026-01-01T00:00:00.000Z",
  team: "red",
  user: "",
  template: "base",
  data: { kill_reason: "request" },
};
const webhook: WebhookView = {
  id: "w1",
  team: "red",
  name: "n",
  url: "https://x.test/",
  enabled: true,
  events: ["killed"],
  createdAt: event.at,
};

function scene(): E2bScene {
  const made = new E2bScene();
  const asked =
    (answer: unknown) =>
    async (_: unknown, ...more: unknown[]) => {
      made.asked.push(more);
      return answer;
    };
  const delivery = { id: 1, webhook: "w1", attempts: 2, event, state: "dead", dueAt: event.at, lastError: "it answered 500" };
  made.webhooks = {
    create: asked(webhook),
    list: asked([webhook]),
    get: asked(webhook),
    change: asked(webhook),
    remove: asked(undefined),
    undelivered: asked([delivery]),
    events: asked([event]),
  } as unknown as WebhookService;
  return made;
}

test("events are shown in E2B's form, in the order and of the types that are asked for", async () => {
  const one = scene();
  const { json } = await one.ask("GET /events/sandboxes/abc-oldclient?limit=5&offset=2&orderAsc=true&types=sandbox.lifecycle.killed");
  expect(one.asked).toEqual([[{ offset: 2, limit: 5, order: "oldest", sandboxId: "abc", types: ["killed"] }]]);
  expect(json).toEqual([
    {
      version: "v1",
      id: "e1",
      type: "sandbox.lifecycle.killed",
      eventData: { kill_reason: "request" },
      sandboxId: "abc",
      sandboxBuildId: "base",
      sandboxExecutionId: "abc",
      sandboxTeamId: "red",
      sandboxTemplateId: "base",
      timestamp: event.at,
    },
  ]);
  await one.ask("GET /events/sandboxes");
  expect(one.asked[1]).toEqual([{ offset: 0, limit: 10, order: "newest" }]);
});

test.each(["limit=0", "limit=101", "offset=-1", "types=sandbox.lifecycle.none"])("%s is refused", async (query) => {
  expect((await scene().ask(`GET /events/sandboxes?${query}`)).status).toBe(400);
});

test("a webhook is made, shown, changed and removed", async () => {
  const one = scene();
  const body = { name: "n", url: "https://x.test/", events: ["sandbox.lifecycle.killed"], signatureSecret: "s" };
  const shown = { id: "w1", teamID: "red", name: "n", createdAt: event.at, enabled: true, url: "https://x.test/", events: body.events };
  expect(await one.ask("POST /events/webhooks", body)).toMatchObject({ status: 201, json: shown });
  expect((await one.ask("GET /events/webhooks")).json).toEqual([shown]);
  expect((await one.ask("GET /events/webhooks/w1")).json).toEqual(shown);
  expect((await one.ask("PATCH /events/webhooks/w1", { enabled: false })).status).toBe(200);
  expect((await one.ask("DELETE /events/webhooks/w1")).status).toBe(200);
  const { signatureSecret: secret, ...wish } = body;
  expect(one.asked).toEqual([[{ ...wish, secret, enabled: true, events: ["killed"] }], [], ["w1"], ["w1", { enabled: false }], ["w1"]]);
});

test("what was given up is shown with its last error", async () => {
  expect((await scene().ask("GET /events/webhooks/w1/deliveries")).json).toMatchObject([
    { state: "dead", attempts: 2, givenUpAt: event.at, lastError: "it answered 500", event: { id: "e1" } },
  ]);
});
