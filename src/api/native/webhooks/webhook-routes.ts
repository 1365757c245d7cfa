/** Webhooks: make, list, change, delete, and what they have not taken. E2B's clients have routes of their own (api/e2b/event-routes.ts). */
import { noteSubject } from "#api/http/observe-requests.ts";
import { type Route, route } from "#api/native/route.ts";
import {
  deliveriesSchema,
  type WebhookBody,
  type WebhookChange,
  webhookChangeSchema,
  webhookParams,
  webhookSchema,
  webhooksSchema,
  webhookWishSchema,
} from "#api/native/schemas/webhooks.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { ErrorCode } from "#model/error-codes.ts";
import { eventName, eventTypeOf, type SandboxEventType } from "#model/sandbox-event.ts";
import { ServiceError } from "#services/service-error.ts";
import type { DeliveryView, WebhookService, WebhookView } from "#services/webhooks/webhook-service.ts";

export interface WebhookRoutesDeps {
  /** Left out where events of sandboxes are not noted. */
  readonly webhooks?: WebhookService | undefined;
}

type Webhooks = () => WebhookService;

const errors: readonly ErrorCode[] = ["not_found", "conflict", "not_implemented"];

export function webhookRoutes({ webhooks }: WebhookRoutesDeps): readonly Route[] {
  const needed: Webhooks = () => {
    if (webhooks !== undefined) return webhooks;
    throw new ServiceError("not_implemented", "webhooks are told by one machine (agentbox up), and not by a cluster yet");
  };
  return [...writeRoutes(needed), ...readRoutes(needed)];
}

function writeRoutes(webhooks: Webhooks): readonly Route[] {
  return [
    route({
      method: "POST",
      path: "/webhooks",
      name: "createWebhook",
      summary: "Create a webhook",
      body: webhookWishSchema,
      answers: [{ status: 201, description: "The new webhook.", schema: webhookSchema }],
      errors: [...errors, "limit_reached"],
      handle: async ({ caller, body, request }) => {
        const made = await webhooks().create(caller(), wishOf(body));
        noteSubject(request, { webhook: made.id });
        return bodyOf(made);
      },
    }),
    route({
      method: "PATCH",
      path: "/webhooks/{webhookId}",
      name: "changeWebhook",
      summary: "Change a webhook",
      params: webhookParams,
      body: webhookChangeSchema,
      answers: [{ status: 200, description: "The webhook as it is now.", schema: webhookSchema }],
      errors,
      handle: async ({ caller, params, body }) => bodyOf(await webhooks().change(caller(), params.webhookId, changeOf(body))),
    }),
    route({
      method: "DELETE",
      path: "/webhooks/{webhookId}",
      name: "deleteWebhook",
      summary: "Delete a webhook, with what it has not taken",
      params: webhookParams,
      answers: [{ status: 204, description: "It is gone." }],
      errors,
      handle: ({ caller, params }) => webhooks().remove(caller(), params.webhookId),
    }),
  ];
}

function readRoutes(webhooks: Webhooks): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/webhooks",
      name: "listWebhooks",
      summary: "List webhooks",
      answers: [{ status: 200, description: "All of them.", schema: webhooksSchema }],
      errors: ["not_implemented"],
      handle: async ({ caller }) => ({ webhooks: (await webhooks().list(caller())).map(bodyOf) }),
    }),
    route({
      method: "GET",
      path: "/webhooks/{webhookId}",
      name: "getWebhook",
      summary: "Show a webhook",
      params: webhookParams,
      answers: [{ status: 200, description: "The webhook.", schema: webhookSchema }],
      errors,
      handle: async ({ caller, params }) => bodyOf(await webhooks().get(caller(), params.webhookId)),
    }),
    route({
      method: "GET",
      path: "/webhooks/{webhookId}/deliveries",
      name: "listWebhookDeliveries",
      summary: "List what a webhook has not taken: events that wait, and those that were given up",
      params: webhookParams,
      answers: [{ status: 200, description: "They wait, or were given up.", schema: deliveriesSchema }],
      errors,
      handle: async ({ caller, params }) => ({
        deliveries: (await webhooks().undelivered(caller(), params.webhookId)).map(deliveryOf),
      }),
    }),
  ];
}

function wishOf({ name, url, enabled = true, events, signatureSecret }: WebhookBody) {
  return { name, url, enabled, secret: signatureSecret, events: typesOf(events) };
}

function changeOf({ name, url, enabled, events, signatureSecret }: WebhookChange) {
  return withoutUndefined({ name, url, enabled, secret: signatureSecret, events: events && typesOf(events) });
}

/** The schema has no others. */
function typesOf(names: readonly string[]): readonly SandboxEventType[] {
  return names.flatMap((name) => eventTypeOf(name) ?? []);
}

function bodyOf({ id, name, url, enabled, events, team, user, createdAt }: WebhookView) {
  return {
    id,
    name,
    url,
    enabled,
    events: events.map(eventName),
    ...(team !== "" && { team }),
    ...(user !== undefined && { user }),
    createdAt,
  };
}

function deliveryOf({ state, attempts, dueAt, lastError, event }: DeliveryView) {
  const { type, sandboxId, at } = event;
  return { state, attempts, dueAt, ...(lastError !== undefined && { lastError }), event: eventName(type), sandboxId, at };
}
