/**
 * Delivers events to webhooks: at least once, those of one sandbox in their order, later each time one fails, and given up after three days. What is
 * under way when the process dies is delivered again by the next.
 */
import { backoffMs, type Random } from "#lib/backoff.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import { Limiter } from "#lib/limiter.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Webhook } from "#sandbox/events/webhook.ts";
import type { Delivery, EventStore } from "#store/events/event-store.ts";
import { planDelivery } from "./plan-delivery.ts";
import type { SendWebhook } from "./send-webhook.ts";

export interface DelivererDeps {
  readonly events: Pick<EventStore, "due" | "nextDueMs" | "delivered" | "failed">;
  readonly webhooks: () => Promise<readonly Webhook[]>;
  readonly send: SendWebhook;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly random: Random;
}

const atOnce = 16;
const batch = 64;
/** Between two looks, unless there is something new. */
const [leastLookMs, mostLookMs] = [1000, 60_000];
const deliveryBackoff = { baseMs: 5000, maxMs: 10 * 60_000, jitter: "equal" } as const;

export class Deliverer implements AsyncDisposable {
  readonly #deps: DelivererDeps;
  readonly #ended = new AbortController();
  readonly #limiter = new Limiter(atOnce);
  readonly #running: Promise<void>;
  readonly #count: (result: "delivered" | "failed" | "dead") => void;
  #wake = new AbortController();

  constructor(deps: DelivererDeps) {
    this.#deps = deps;
    const counter = deps.metrics.counter({
      name: "agentbox_webhook_deliveries_total",
      help: "Deliveries of events to webhooks that were tried",
      labels: ["result"],
    });
    this.#count = (result) => counter.add({ result });
    this.#running = this.#run();
  }

  /** There is something new. */
  wake(): void {
    this.#wake.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    this.#wake.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#deps;
    while (!this.#ended.signal.aborted) {
      this.#wake = new AbortController();
      let restMs: number = leastLookMs;
      try {
        restMs = await this.#round();
      } catch (error) {
        log.warn({ error }, "webhooks could not be looked at; they are looked at again");
      }
      if (restMs > 0) await sleep(clock, restMs, AbortSignal.any([this.#wake.signal, this.#ended.signal])).catch(() => {});
    }
  }

  /** Resolves with how long to rest; 0 if others may be due already, because of each sandbox only the oldest was. */
  async #round(): Promise<number> {
    const { events, clock } = this.#deps;
    const due = await events.due(clock.now(), batch);
    if (due.length === 0) {
      const next = await events.nextDueMs();
      return Math.min(Math.max((next ?? Infinity) - clock.now(), leastLookMs), mostLookMs);
    }
    const webhooks = new Map((await this.#deps.webhooks()).map((webhook) => [webhook.id, webhook]));
    await Promise.all(due.map((delivery) => this.#limiter.run(() => this.#deliver(delivery, webhooks.get(delivery.webhook)))));
    return 0;
  }

  async #deliver(delivery: Delivery, webhook: Webhook | undefined): Promise<void> {
    const { events, clock, random, send, log } = this.#deps;
    if (this.#ended.signal.aborted) return;
    const outcome = webhook?.enabled === true ? await send(webhook, delivery, this.#ended.signal) : undefined;
    // Cut off by our own end: the next process tries again.
    if (this.#ended.signal.aborted && outcome?.kind !== "accepted") return;
    const backoff = (failures: number): number => backoffMs(deliveryBackoff, failures, random);
    const plan = planDelivery({ delivery, webhook, outcome, nowMs: clock.now(), backoff });
    if (plan.kind === "done") await events.delivered(delivery.id);
    else await events.failed(delivery.id, plan.failure);
    if (plan.result === undefined) return;
    this.#count(plan.result);
    const about = { webhook: delivery.webhook, event: delivery.event.id, attempts: delivery.attempts + 1 };
    if (plan.result === "dead") log.warn(about, "an event was given up: its webhook did not take it for three days");
  }
}
