/** Webhooks of a team, and the events of its sandboxes. A secret can be set, and is never shown again. */
import { randomUUID } from "node:crypto";
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Clock } from "#lib/clock.ts";
import { OneAtATime } from "#lib/one-at-a-time.ts";
import { Secrets, type Secret } from "#model/core-kinds.ts";
import { labelKeys, webhookLabel } from "#model/keys.ts";
import type { SandboxEvent, SandboxEventType } from "#model/sandbox-event.ts";
import { storedWebhook, type Webhook, webhookSecret, webhookSecretName } from "#sandbox/events/webhook.ts";
import { type Caller, scopeOf } from "#services/caller.ts";
import { type LimitGuard, limitReached } from "#services/limits/limit-guard.ts";
import { ServiceError } from "#services/service-error.ts";
import { asServiceError } from "#services/service-failure.ts";
import type { DeliveryView, EventQuery } from "#store/events/event-store.ts";
import type { HistoryStore } from "#store/history-store.ts";

export type { DeliveryView } from "#store/events/event-store.ts";

export type WebhookView = Omit<Webhook, "secret">;

export interface WebhookWish {
  readonly name: string;
  readonly url: string;
  readonly enabled: boolean;
  readonly events: readonly SandboxEventType[];
  readonly secret: string;
}

export interface WebhookService {
  create(caller: Caller, wish: WebhookWish): Promise<WebhookView>;
  list(caller: Caller): Promise<readonly WebhookView[]>;
  get(caller: Caller, id: string): Promise<WebhookView>;
  /** Fields that are left out stay as they are. */
  change(caller: Caller, id: string, change: Partial<WebhookWish>): Promise<WebhookView>;
  remove(caller: Caller, id: string): Promise<void>;
  /** Deliveries that wait and deliveries that were given up, oldest first. */
  undelivered(caller: Caller, id: string): Promise<readonly DeliveryView[]>;
  events(caller: Caller, query: Omit<EventQuery, "scope">): Promise<readonly SandboxEvent[]>;
}

export interface WebhookDeps {
  readonly client: Pick<ObjectClient, "get" | "list" | "create" | "update" | "delete">;
  readonly history: Pick<HistoryStore, "events">;
  readonly guard: Pick<LimitGuard, "ofTeam">;
  readonly namespace: string;
  readonly clock: Clock;
}

const shownDeliveries = 100;
/** Characters. */
const longest = { name: 128, url: 2048, secret: 256 } as const;

export function webhookService(deps: WebhookDeps): WebhookService {
  const { history } = deps;
  // Two creates of a team at once must not take the last free place twice.
  const turns = new OneAtATime();
  return {
    create: (caller, wish) => failing(() => turns.run(caller.team, () => create(deps, caller, wish))),
    list: (caller) => failing(async () => (await all(deps, caller)).map(viewOf)),
    get: (caller, id) => failing(async () => viewOf((await find(deps, caller, id)).webhook)),
    change: (caller, id, wish) => failing(() => change(deps, { caller, id }, wish)),
    remove: (caller, id) => failing(() => remove(deps, caller, id)),
    undelivered: (caller, id) =>
      failing(async () => {
        await find(deps, caller, id);
        return history.events.undelivered(id, shownDeliveries);
      }),
    events: (caller, query) =>
      failing(async () => {
        if (caller.role === "tenant" && caller.team === "") return [];
        return history.events.list({ ...query, scope: scopeOf(caller) });
      }),
  };
}

async function failing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asServiceError(error);
  }
}

async function create(deps: WebhookDeps, caller: Caller, wish: WebhookWish): Promise<WebhookView> {
  checkWebhook(wish);
  if (caller.role === "tenant" && caller.team === "") throw new ServiceError("forbidden", "a key without a team cannot have webhooks");
  const { team } = caller;
  const limit = team === "" ? undefined : deps.guard.ofTeam(team, "webhooks");
  const { user: _, ...wholeTeam } = caller;
  const used = (await all(deps, wholeTeam)).filter((webhook) => webhook.team === team).length;
  if (limit !== undefined && used + 1 > limit) throw limitReached({ name: "webhooks", team, limit, used, wanted: 1 });
  const webhook: Webhook = {
    id: randomUUID(),
    team,
    ...(caller.user !== undefined && { user: caller.user }),
    ...wish,
    createdAt: new Date(deps.clock.now()).toISOString(),
  };
  await deps.client.create(Secrets, webhookSecret(deps.namespace, webhook));
  return viewOf(webhook);
}

async function change(deps: WebhookDeps, { caller, id }: Wanted, wish: Partial<WebhookWish>): Promise<WebhookView> {
  const { webhook, secret } = await find(deps, caller, id);
  const next: Webhook = { ...webhook, ...wish };
  checkWebhook(next);
  const { metadata, ...rest } = webhookSecret(deps.namespace, next);
  // With its version: of two changes at once one is refused.
  await deps.client.update(Secrets, { ...rest, metadata: { ...secret.metadata, ...metadata } });
  return viewOf(next);
}

async function remove(deps: WebhookDeps, caller: Caller, id: string): Promise<void> {
  const { secret } = await find(deps, caller, id);
  const { name = "", uid } = secret.metadata;
  await deps.client.delete(Secrets, { namespace: deps.namespace, name }, { preconditions: { uid } });
  // What is left after a crash in between goes when it is due.
  await deps.history.events.dropWebhook(id);
}

interface Wanted {
  readonly caller: Caller;
  readonly id: string;
}

interface Found {
  readonly webhook: Webhook;
  readonly secret: Secret;
}

async function all({ client, namespace }: WebhookDeps, caller: Caller): Promise<readonly Webhook[]> {
  const own = caller.role === "admin" ? "" : `,${labelKeys.team}=${caller.team}`;
  if (caller.role === "tenant" && caller.team === "") return [];
  const { items } = await client.list(Secrets, { namespace, labelSelector: `${webhookLabel}=true${own}` });
  return items.flatMap((secret) => {
    const webhook = storedWebhook(secret);
    return webhook !== undefined && maySee(caller, webhook) ? [webhook] : [];
  });
}

async function find({ client, namespace }: WebhookDeps, caller: Caller, id: string): Promise<Found> {
  const unknown = new ServiceError("not_found", `there is no webhook ${JSON.stringify(id)}`);
  if (!/^[0-9a-f-]{36}$/.test(id)) throw unknown;
  try {
    const secret = await client.get(Secrets, { namespace, name: webhookSecretName(id) });
    const webhook = storedWebhook(secret);
    if (webhook === undefined || !maySee(caller, webhook)) throw unknown;
    return { webhook, secret };
  } catch (error) {
    throw isApiError(error, "NotFound") ? unknown : error;
  }
}

function maySee(caller: Caller, { team, user }: Webhook): boolean {
  if (caller.role === "admin") return true;
  return team !== "" && team === caller.team && (caller.user === undefined || caller.user === user);
}

function viewOf(webhook: Webhook): WebhookView {
  const { secret: _, ...view } = webhook;
  return view;
}

/** Which machine the address leads to is checked with each delivery, because names change. Throws invalid_request. */
function checkWebhook({ name, url, events, secret }: WebhookWish): void {
  for (const [field, text] of Object.entries({ name, url, secret }) as [keyof typeof longest, string][]) {
    if (text.length < 1 || text.length > longest[field]) throw invalid(field, `must have 1 to ${longest[field]} characters`);
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !["http:", "https:"].includes(parsed.protocol))
    throw invalid("url", "must be an address such as https://example.com/hook");
  if (parsed.username !== "" || parsed.password !== "") throw invalid("url", "must not hold a user or a password");
  if (events.length === 0) throw invalid("events", "must name at least one type of event");
}

function invalid(field: keyof typeof longest | "events", why: string): ServiceError {
  const named = field === "secret" ? "signatureSecret" : field;
  return new ServiceError("invalid_request", `${named}: ${why}`, { field: named });
}
