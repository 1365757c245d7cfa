/** Decides after each attempt whether a delivery is done, repeated later, or given up. Pure. */
import type { Delivery, FailedDelivery } from "#store/events/event-store.ts";
import type { SendOutcome } from "./send-webhook.ts";

export interface Tried {
  readonly delivery: Pick<Delivery, "attempts" | "event">;
  /** Undefined: it was not sent, because the webhook is switched off. */
  readonly outcome: SendOutcome | undefined;
  readonly nowMs: number;
  /** The pause after this many failures. */
  readonly backoff: (failures: number) => number;
}

export type DeliveryPlan =
  | { readonly kind: "done"; readonly result?: "delivered" }
  | { readonly kind: "again"; readonly failure: FailedDelivery; readonly result?: "failed" | "dead" };

export const giveUpMs = 3 * 24 * 3_600_000;
/** How often a webhook that is switched off is looked at again. */
const offMs = 60_000;

export function planDelivery({ delivery, outcome, nowMs, backoff }: Tried): DeliveryPlan {
  if (outcome?.kind === "accepted") return { kind: "done", result: "delivered" };
  const isDead = nowMs - Date.parse(delivery.event.at) >= giveUpMs;
  if (outcome === undefined) {
    const failure = { attempts: delivery.attempts, dueMs: isDead ? nowMs : nowMs + offMs, error: "the webhook is switched off", isDead };
    return { kind: "again", failure, ...(isDead && { result: "dead" as const }) };
  }
  const attempts = delivery.attempts + 1;
  const dueMs = isDead ? nowMs : nowMs + backoff(attempts);
  return { kind: "again", failure: { attempts, dueMs, error: outcome.why, isDead }, result: isDead ? "dead" : "failed" };
}
