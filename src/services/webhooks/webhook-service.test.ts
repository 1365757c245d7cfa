import { expect, test } from "vitest";
import { admin, ann, bob, eve, failureOf, redTeam, ServiceScene } from "../../../test/world/service-scene.ts";
import { webhookService, type WebhookService, type WebhookWish } from "./webhook-service.ts";

const wish: WebhookWish = { name: "mine", url: "https://hooks.test/in", enabled: true, events: ["created"], secret: "very secret" };

async function opened(limit?: number): Promise<{ readonly scene: ServiceScene; readonly webhooks: WebhookService }> {
  const scene = await ServiceScene.open();
  return {
    scene,
    webhooks: webhookService({
      client: scene.client,
      history: scene.history,
      clock: scene.clock,
      namespace: scene.namespace,
      guard: { ofTeam: () => limit },
    }),
  };
}

test("a webhook is made, shown, changed and removed, and its secret is never told", async () => {
  const { scene, webhooks } = await opened();
  await using _ = scene;
  const made = await webhooks.create(redTeam, wish);
  const answers = [
    made,
    await webhooks.get(redTeam, made.id),
    ...(await webhooks.list(redTeam)),
    await webhooks.change(redTeam, made.id, { enabled: false, secret: "another secret" }),
  ];
  for (const answer of answers) expect(JSON.stringify(answer)).not.toContain("secret");
  expect(answers.at(-1)).toMatchObject({ name: "mine", enabled: false, team: "red" });
  await webhooks.remove(redTeam, made.id);
  expect(await webhooks.list(redTeam)).toEqual([]);
  expect((await failureOf(webhooks.get(redTeam, made.id))).code).toBe("not_found");
});

test("I8: a webhook of another team or user does not exist", async () => {
  const { scene, webhooks } = await opened();
  await using _ = scene;
  const { id } = await webhooks.create(ann, wish);
  for (const caller of [eve, bob]) {
    expect(await webhooks.list(caller)).toEqual([]);
    for (const asked of [
      webhooks.get(caller, id),
      webhooks.change(caller, id, { enabled: false }),
      webhooks.remove(caller, id),
      webhooks.undelivered(caller, id),
    ])
      expect((await failureOf(asked)).message).toBe(`there is no webhook "${id}"`);
  }
  expect(await webhooks.get(redTeam, id)).toMatchObject({ enabled: true });
  expect(await webhooks.list(admin)).toHaveLength(1);
});

test("a team may have so many, whichever of its users made them", async () => {
  const { scene, webhooks } = await opened(1);
  await using _ = scene;
  await webhooks.create(ann, wish);
  expect(await failureOf(webhooks.create(bob, wish))).toMatchObject({ code: "limit_reached", details: { limit: { name: "webhooks" } } });
  await webhooks.create(eve, wish);
});

test("a team that makes many at once has no more than it may", async () => {
  const { scene, webhooks } = await opened(2);
  await using _ = scene;
  const made = await Promise.allSettled(Array.from({ length: 6 }, () => webhooks.create(redTeam, wish)));
  expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
  expect(await webhooks.list(redTeam)).toHaveLength(2);
});

test.each<[Partial<WebhookWish>, string]>([
  [{ url: "ftp://x.test/" }, "url"],
  [{ url: "no address" }, "url"],
  [{ url: "https://user:word@x.test/" }, "url"],
  [{ url: `https://x.test/${"a".repeat(2048)}` }, "url"],
  [{ name: "" }, "name"],
  [{ events: [] }, "events"],
  [{ secret: "" }, "signatureSecret"],
])("%j is refused", async (bad, field) => {
  const { scene, webhooks } = await opened();
  await using _ = scene;
  expect(await failureOf(webhooks.create(redTeam, { ...wish, ...bad }))).toMatchObject({ code: "invalid_request", details: { field } });
});

test("events are those of the caller's sandboxes", async () => {
  const { scene, webhooks } = await opened();
  await using _ = scene;
  const event = { sandboxId: "i-1", type: "created", at: scene.now, team: "red", user: "ann", template: "base", data: null } as const;
  await scene.history.events.append({ ...event, id: "e1" }, []);
  await scene.history.events.append({ ...event, id: "e2", type: "killed" }, []);
  const idsOf = async (caller: typeof ann, more: object = {}) =>
    (await webhooks.events(caller, { offset: 0, limit: 10, order: "newest", ...more })).map(({ id }) => id);
  expect(await idsOf(ann)).toEqual(["e2", "e1"]);
  expect(await idsOf(redTeam, { order: "oldest", limit: 1 })).toEqual(["e1"]);
  expect(await idsOf(redTeam, { types: ["killed"] })).toEqual(["e2"]);
  expect(await idsOf(redTeam, { sandboxId: "i-2" })).toEqual([]);
  expect([await idsOf(bob), await idsOf(eve)]).toEqual([[], []]);
});
