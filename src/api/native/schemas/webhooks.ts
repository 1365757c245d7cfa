/** Webhooks: requests and answers. */
import { type Static, Type } from "typebox";
import { choice, text } from "#model/schema-builders.ts";
import { eventName, sandboxEventTypes } from "#model/sandbox-event.ts";
import { closed, named, open, optional, time } from "./builders.ts";

const eventNames = sandboxEventTypes.map(eventName);

const fields = {
  name: text("What it is for.", { minLength: 1, maxLength: 128 }),
  url: text("Where events are sent, such as https://example.com/hook.", { minLength: 1, maxLength: 2048 }),
  enabled: Type.Boolean({ description: "Whether events are sent. True when left out." }),
  events: Type.Array(choice(eventNames, "A type of event."), { minItems: 1, description: "Which events it is told." }),
  signatureSecret: text("Signs what is sent. It is never shown again.", { minLength: 1, maxLength: 256 }),
};

export const webhookWishSchema = named("CreateWebhook", closed({ ...fields, enabled: optional(fields.enabled) }, "A webhook to create."));
export type WebhookBody = Static<typeof webhookWishSchema>;

export const webhookChangeSchema = named(
  "ChangeWebhook",
  closed(
    {
      name: optional(fields.name),
      url: optional(fields.url),
      enabled: optional(Type.Boolean({ description: "Whether events are sent." })),
      events: optional(fields.events),
      signatureSecret: optional(fields.signatureSecret),
    },
    "What to change; the rest stays as it is.",
  ),
);
export type WebhookChange = Static<typeof webhookChangeSchema>;

export const webhookSchema = named(
  "Webhook",
  open(
    {
      id: text("Its id."),
      name: text("What it is for."),
      url: text("Where events are sent."),
      enabled: Type.Boolean({ description: "Whether events are sent." }),
      events: Type.Array(Type.String(), { description: "Which events it is told." }),
      team: optional(text("Its owner; absent for a webhook that an admin made without a team, which is told events of such sandboxes.")),
      user: optional(text("Its owner; absent for a webhook of the whole team.")),
      createdAt: time("Creation time."),
    },
    "Where a team is told what happens to its sandboxes.",
  ),
);
export const webhooksSchema = open({ webhooks: Type.Array(webhookSchema, { description: "All of the caller's." }) }, "Webhooks.");

const deliverySchema = named(
  "WebhookDelivery",
  open(
    {
      state: choice(["pending", "dead"], "pending: it is tried again. dead: it was given up."),
      attempts: Type.Integer({ description: "How often it was tried." }),
      dueAt: time("When it is tried next; of a dead one, when it was given up."),
      lastError: optional(text("Why the last try failed.")),
      event: text("The type of the event."),
      sandboxId: text("What it is about."),
      at: time("When that happened."),
    },
    "An event that a webhook has not taken.",
  ),
);
export const deliveriesSchema = open(
  { deliveries: Type.Array(deliverySchema, { description: "Oldest first, at most 100." }) },
  "What is not delivered.",
);
export const webhookParams = closed({ webhookId: text("The id of a webhook.", { minLength: 1, maxLength: 64 }) }, "Which webhook.");
