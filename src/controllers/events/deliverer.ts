/**
 * Delivers events to webhooks: at least once, those of one sandbox in their order, later each time one fails, and given up after three days. What is
 * under way when the process dies is delivered again by the next. Of one team only some are under way at a time: receivers that answer slowly, or not at
 * all, hold up no deliveries of others.
 */
import { backoffMs, type Random } from "#lib/backoff.ts";
import { type Clock, sleep } from "#lib/clock.ts";
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

const [atOnce, atOnceOfTeam] = [32, 8];
/** More than are under way, which are still due. */
const batch = 64;
/** Between two looks, unless there is something new. */
const [leastLookMs, mostLookMs] = [1000, 60_000];
const deliveryBackoff = { baseMs: 5000, maxMs: 10 * 60_000, jitter: "equal" } as const;

interface UnderWay {
  readonly owner: string;
  readonly ended: Promise<void>;
}

export class Deliverer implements AsyncDisposable {
  readonly #deps: DelivererDeps;
  readonly #ended = new AbortController();
  /** By the id of the delivery. */
  readonly #underWay = new Map<number, UnderWay>();
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
    await Promise.all([...this.#underWay.values()].map(({ ended }) => ended));
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

  /** Begins what is due and has a place. Resolves with how long to rest; 0 if there may be more. */
  async #round(): Promise<number> {
    const { events, clock } = this.#deps;
    if (this.#underWay.size >= atOnce) return mostLookMs;
    const webhooks = new Map((await this.#deps.webhooks()).map((webhook) => [webhook.id, webhook]));
    const busy = [...webhooks.values()].filter((webhook) => this.#isBusy(ownerOf(webhook))).map(({ id }) => id);
    // What ends during the look may be in what it finds.
    const before = new Set(this.#underWay.keys());
    const due = (await events.due(clock.now(), batch, busy)).filter(({ id }) => !before.has(id));
    let begun = 0;
    for (const delivery of due) {
      const webhook = webhooks.get(delivery.webhook);
      const owner = webhook === undefined ? "" : ownerOf(webhook);
      if (this.#underWay.size >= atOnce || this.#isBusy(owner)) continue;
      this.#begin(delivery, webhook, owner);
      begun += 1;
    }
    if (begun > 0) return 0;
    const next = await events.nextDueMs();
    return Math.min(Math.max((next ?? Infinity) - clock.now(), leastLookMs), mostLookMs);
  }

  #isBusy(owner: string): boolean {
    return Iterator.from(this.#underWay.values()).reduce((sum, one) => (one.owner === owner ? sum + 1 : sum), 0) >= atOnceOfTeam;
  }

  #begin(delivery: Delivery, webhook: Webhook | undefined, owner: string): void {
    const { clock, log } = this.#deps;
    const ended = this.#deliver(delivery, webhook)
      .catch(async (error: unknown) => {
        log.warn({ error, webhook: delivery.webhook }, "how a delivery went could not be noted; it is tried again");
        await sleep(clock, leastLookMs, this.#ended.signal).catch(() => {});
      })
      .finally(() => {
        this.#underWay.delete(delivery.id);
        this.wake();
      });
    this.#underWay.set(delivery.id, { owner, ended });
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

/** Those of no team are an admin's, and each counts by itself. */
function ownerOf({ team, id }: Webhook): string {
  return team === "" ? `webhook ${id}` : `team ${team}`;
}
