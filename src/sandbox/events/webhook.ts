/** Webhooks as they are stored: one Secret each, because each holds the secret that signs its deliveries. Pure. */
import type { Secret } from "#model/core-kinds.ts";
import { labelKeys, webhookLabel, webhookSecretType } from "#model/keys.ts";
import type { SandboxEvent, SandboxEventType } from "#model/sandbox-event.ts";

export interface Webhook {
  readonly id: string;
  /** Empty: the webhook of an admin, which gets the events of all teams. */
  readonly team: string;
  /** Left out: the whole team's. */
  readonly user?: string;
  readonly name: string;
  readonly url: string;
  readonly enabled: boolean;
  readonly events: readonly SandboxEventType[];
  /** ISO 8601. */
  readonly createdAt: string;
  /** Never shown again. */
  readonly secret: string;
}

export function webhookSecretName(id: string): string {
  return `agentbox-webhook-${id}`;
}

export function webhookSecret(namespace: string, webhook: Webhook): Secret {
  const { id, team, user, ...rest } = webhook;
  const owner = { ...(team !== "" && { [labelKeys.team]: team }), ...(user !== undefined && { [labelKeys.user]: user }) };
  return {
    metadata: { namespace, name: webhookSecretName(id), labels: { [webhookLabel]: "true", ...owner } },
    type: webhookSecretType,
    data: { webhook: Buffer.from(JSON.stringify(rest)).toString("base64") },
  };
}

/** Undefined for Secrets that are no webhooks, or are in an unknown form. */
export function storedWebhook({ type, metadata, data }: Secret): Webhook | undefined {
  const { name = "", labels = {}, deletionTimestamp } = metadata;
  if (type !== webhookSecretType || deletionTimestamp !== undefined) return undefined;
  const user = labels[labelKeys.user];
  try {
    const rest = JSON.parse(Buffer.from(data?.["webhook"] ?? "", "base64").toString()) as Omit<Webhook, "id" | "team" | "user">;
    if (typeof rest.url !== "string" || !Array.isArray(rest.events)) return undefined;
    return {
      ...rest,
      id: name.slice(webhookSecretName("").length),
      team: labels[labelKeys.team] ?? "",
      ...(user !== undefined && { user }),
    };
  } catch {
    return undefined;
  }
}

/** Whether the event is of this webhook's team, and of a type that it asked for. */
export function isFor(webhook: Webhook, { team, user, type }: SandboxEvent): boolean {
  const isOwn = webhook.team === "" || (webhook.team === team && (webhook.user === undefined || webhook.user === user));
  return webhook.enabled && isOwn && webhook.events.includes(type);
}
