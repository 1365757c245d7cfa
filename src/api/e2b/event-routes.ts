/** Events of sandboxes, and webhooks that they are delivered to. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { callerOf } from "../http/caller-of.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { eventBody, eventName, eventTypeOf, type SandboxEventType, sandboxEventTypes } from "#model/sandbox-event.ts";
import { ServiceError } from "#services/service-error.ts";
import type { DeliveryView, WebhookService, WebhookView } from "#services/webhooks/webhook-service.ts";

const eventQuery = Type.Object({
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  orderAsc: Type.Optional(Type.Boolean()),
  types: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
});

const fields = {
  name: Type.String(),
  url: Type.String(),
  enabled: Type.Boolean(),
  events: Type.Array(Type.String()),
  signatureSecret: Type.String(),
};
const created = Type.Object({ ...fields, enabled: Type.Optional(fields.enabled) });
const changed = Type.Partial(Type.Object(fields));
const idParams = Type.Object({ webhookID: Type.String() });

export function eventRoutes(app: FastifyInstance, webhooks: WebhookService): void {
  const list = async (request: FastifyRequest, sandboxId?: string): Promise<unknown> => {
    const { offset = 0, limit = 10, orderAsc = false, types } = request.query as Static<typeof eventQuery>;
    const wanted =
      types === undefined
        ? undefined
        : typesIn(
            "types",
            [types].flat().flatMap((text) => text.split(",")),
          );
    const order = orderAsc ? "oldest" : "newest";
    const events = await webhooks.events(callerOf(request), { offset, limit, order, ...withoutUndefined({ sandboxId, types: wanted }) });
    return events.map(eventBody);
  };
  app.get("/events/sandboxes", { schema: { querystring: eventQuery } }, (request) => list(request));
  app.get("/events/sandboxes/:sandboxID", { schema: { querystring: eventQuery } }, (request) =>
    // Older clients send `<id>-<client>`.
    list(request, (request.params as { readonly sandboxID: string }).sandboxID.split("-", 1)[0]),
  );
  webhookRoutes(app, webhooks);
}

function webhookRoutes(app: FastifyInstance, webhooks: WebhookService): void {
  app.post("/events/webhooks", { schema: { body: created } }, async (request, reply) => {
    const { signatureSecret: secret, events, enabled = true, name, url } = request.body as Static<typeof created>;
    const wish = { name, url, enabled, secret, events: typesIn("events", events) };
    return reply.code(201).send(webhookBody(await webhooks.create(callerOf(request), wish)));
  });
  app.get("/events/webhooks", async (request) => (await webhooks.list(callerOf(request))).map(webhookBody));
  app.get("/events/webhooks/:webhookID", { schema: { params: idParams } }, async (request) =>
    webhookBody(await webhooks.get(callerOf(request), idIn(request))),
  );
  app.patch("/events/webhooks/:webhookID", { schema: { params: idParams, body: changed } }, async (request) => {
    const { signatureSecret: secret, events, ...rest } = request.body as Static<typeof changed>;
    const change = { ...rest, ...withoutUndefined({ secret, events: events && typesIn("events", events) }) };
    return webhookBody(await webhooks.change(callerOf(request), idIn(request), withoutUndefined(change)));
  });
  app.delete("/events/webhooks/:webhookID", { schema: { params: idParams } }, async (request, reply) => {
    await webhooks.remove(callerOf(request), idIn(request));
    return reply.code(200).send({});
  });
  // Ours: E2B shows this in its dashboard only.
  app.get("/events/webhooks/:webhookID/deliveries", { schema: { params: idParams } }, async (request) =>
    (await webhooks.undelivered(callerOf(request), idIn(request))).map(deliveryBody),
  );
}

function idIn(request: FastifyRequest): string {
  return (request.params as Static<typeof idParams>).webhookID;
}

function typesIn(field: string, names: readonly string[]): readonly SandboxEventType[] {
  return names.map((name) => {
    const type = eventTypeOf(name);
    if (type !== undefined) return type;
    const known = sandboxEventTypes.map(eventName).join(", ");
    throw new ServiceError("invalid_request", `${field}: ${JSON.stringify(name)} is not known; there are ${known}`, { field });
  });
}

function webhookBody({ id, team, name, createdAt, enabled, url, events }: WebhookView) {
  return { id, teamID: team === "" ? "admin" : team, name, createdAt, enabled, url, events: events.map(eventName) };
}

function deliveryBody({ state, attempts, dueAt, lastError, event }: DeliveryView) {
  return {
    state,
    attempts,
    ...(state === "pending" ? { nextAttemptAt: dueAt } : { givenUpAt: dueAt }),
    ...withoutUndefined({ lastError }),
    event: eventBody(event),
  };
}
