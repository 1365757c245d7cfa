/** Sends one delivery over HTTP, signed as E2B signs it, to an address that requests of tenants may use (images/registry/outbound.ts). */
import { createHash } from "node:crypto";
import { Agent, type Dispatcher, request } from "undici";
import { Outbound } from "#images/registry/outbound.ts";
import { eventBody } from "#model/sandbox-event.ts";
import type { Webhook } from "#sandbox/events/webhook.ts";
import type { Delivery } from "#store/events/event-store.ts";

export type SendOutcome = { readonly kind: "accepted" } | { readonly kind: "refused"; readonly why: string };

export type SendWebhook = (webhook: Webhook, delivery: Pick<Delivery, "event">, signal: AbortSignal) => Promise<SendOutcome>;

/** A receiver that needs longer should answer first and work afterwards. */
const timeoutMs = 10_000;

/** `hosts`: those that may be reached though their addresses are not public, as `host`, `host:port` or `host:*`. */
export function webhookSender(hosts: readonly string[]): { readonly send: SendWebhook } & AsyncDisposable {
  const outbound = new Outbound({ private: hosts });
  const dispatcher = new Agent({ connect: outbound.connector({ timeout: timeoutMs }), headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  return {
    send: (webhook, delivery, signal) => send(dispatcher, webhook, { delivery, signal }),
    [Symbol.asyncDispose]: () => dispatcher.destroy(),
  };
}

interface Sent {
  readonly delivery: Pick<Delivery, "event">;
  readonly signal: AbortSignal;
}

async function send(dispatcher: Dispatcher, webhook: Webhook, { delivery, signal }: Sent): Promise<SendOutcome> {
  const body = JSON.stringify(eventBody(delivery.event));
  const headers = {
    "content-type": "application/json",
    "user-agent": "AgentBox-Webhook",
    "e2b-webhook-id": webhook.id,
    // The same id each time, so that a receiver can recognize repeated deliveries.
    "e2b-delivery-id": deliveryId(webhook.id, delivery.event.id),
    "e2b-signature-version": "v1",
    "e2b-signature": signatureOf(webhook.secret, body),
  };
  try {
    const until = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const answer = await request(webhook.url, { dispatcher, method: "POST", headers, body, signal: until });
    await answer.body.dump({ limit: 64 * 1024 }).catch(() => {});
    // Redirects are not followed: they could lead to addresses that the webhook's owner may not reach.
    return answer.statusCode >= 200 && answer.statusCode < 300 ? { kind: "accepted" } : refused(`it answered ${answer.statusCode}`);
  } catch (error) {
    return refused(wordsFor(error));
  }
}

/** The secret and the body, hashed; E2B's receivers compute the same. */
function signatureOf(secret: string, body: string): string {
  return createHash("sha256").update(`${secret}${body}`).digest("base64url");
}

function deliveryId(webhook: string, event: string): string {
  const hex = createHash("sha256").update(`${webhook} ${event}`).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** A refused address looks like one that does not answer: a tenant must not learn what is behind it. */
function wordsFor(error: unknown): string {
  const { code = "", name } = error as NodeJS.ErrnoException;
  if (name === "TimeoutError" || code.includes("TIMEOUT")) return `it did not answer within ${timeoutMs / 1000} s`;
  return "it cannot be reached, or its address is not allowed";
}

function refused(why: string): SendOutcome {
  return { kind: "refused", why };
}
