/**
 * Delivers events to webhooks at least once, and the events of one sandbox in their order. A delivery that fails is repeated after a growing pause, and
 * given up after three days. If the process dies during a delivery, the next process repeats it. Each team has a limited number of deliveries under way,
 * so slow receivers of one team do not delay those of another.
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
/** The pause between two looks, unless there is something new. */
const [leastLookMs, mostLookMs] = [1000, 60_000];
/** Between two looks at a webhook whose last delivery failed: an address that refuses at once must not keep this process busy. */
const failingLookMs = 1000;
/** The pause between two looks at a webhook that is switched off: there, deliveries are only given up after three days. */
const offLookMs = 60_000;
const deliveryBackoff = { baseMs: 5000, maxMs: 10 * 60_000, jitter: "equal" } as const;

interface UnderWay {
  readonly owner: string;
  readonly webhook: string;
  readonly ended: Promise<void>;
}

export class Deliverer implements AsyncDisposable {
  readonly #deps: DelivererDeps;
  readonly #ended = new AbortController();
  /** By the id of the delivery. */
  readonly #underWay = new Map<number, UnderWay>();
  /** By webhook: nothing is due before. */
  #quietUntilMs = new Map<string, number>();
  /** By webhook: it is not looked at before, whatever is due. */
  #heldUntilMs = new Map<string, number>();
  readonly #failing = new Set<string>();
  /** The webhook that was looked at last: the next ones have their turn first. */
  #last = "";
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

  /** There is something new for these webhooks. */
  wake(webhooks: readonly string[]): void {
    for (const id of webhooks) this.#quietUntilMs.delete(id);
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
    const { clock } = this.#deps;
    const webhooks = await this.#inTurn();
    let restMs = mostLookMs;
    for (const webhook of webhooks) {
      if (this.#ended.signal.aborted) break;
      const places = Math.min(atOnce - this.#underWay.size, atOnceOfTeam - this.#underWayOf(ownerOf(webhook)));
      if (places <= 0) continue;
      const waitMs = this.#nextLookMs(webhook.id) - clock.now();
      if (waitMs > 0) restMs = Math.min(restMs, waitMs);
      else restMs = Math.min(restMs, await this.#look(webhook, places));
    }
    return restMs <= 0 ? 0 : Math.max(restMs, leastLookMs);
  }

  /** Those after the one that was looked at last come first. */
  async #inTurn(): Promise<readonly Webhook[]> {
    const webhooks = (await this.#deps.webhooks()).toSorted((one, other) => (one.id < other.id ? -1 : 1));
    const ids = new Set(webhooks.map(({ id }) => id));
    const there = (known: ReadonlyMap<string, number>) => new Map(known.entries().filter(([id]) => ids.has(id)));
    [this.#quietUntilMs, this.#heldUntilMs] = [there(this.#quietUntilMs), there(this.#heldUntilMs)];
    for (const id of this.#failing) if (!ids.has(id)) this.#failing.delete(id);
    const [before, after] = [webhooks.filter(({ id }) => id <= this.#last), webhooks.filter(({ id }) => id > this.#last)];
    return [...after, ...before];
  }

  #nextLookMs(webhook: string): number {
    return Math.max(this.#quietUntilMs.get(webhook) ?? 0, this.#heldUntilMs.get(webhook) ?? 0);
  }

  /** Begins what is due of one webhook and has a place. Resolves with how long to rest; 0 if there may be more. */
  async #look(webhook: Webhook, places: number): Promise<number> {
    const { events, clock } = this.#deps;
    const { id } = webhook;
    this.#last = id;
    // What ends during the look may be in what it finds.
    const before = new Set(this.#underWay.keys());
    const own = this.#underWay.values().reduce((sum, one) => (one.webhook === id ? sum + 1 : sum), 0);
    const wanted = places + own;
    const nowMs = clock.now();
    // Something new takes this away again, also during the look.
    this.#quietUntilMs.set(id, nowMs);
    const found = await events.due(id, nowMs, wanted);
    const due = found.filter((delivery) => !before.has(delivery.id));
    for (const delivery of due.slice(0, places)) this.#begin(delivery, webhook);
    const paceMs = webhook.enabled ? (this.#failing.has(id) ? failingLookMs : 0) : offLookMs;
    if (paceMs > 0) this.#heldUntilMs.set(id, nowMs + paceMs);
    if (found.length === wanted) return paceMs;
    const quietUntilMs = Math.min((await events.nextDueMs(id, nowMs)) ?? Infinity, nowMs + mostLookMs);
    if (!this.#quietUntilMs.has(id)) return paceMs;
    this.#quietUntilMs.set(id, quietUntilMs);
    return Math.max(quietUntilMs - nowMs, paceMs);
  }

  #underWayOf(owner: string): number {
    return this.#underWay.values().reduce((sum, one) => (one.owner === owner ? sum + 1 : sum), 0);
  }

  #begin(delivery: Delivery, webhook: Webhook): void {
    const { clock, log } = this.#deps;
    const ended = this.#deliver(delivery, webhook)
      .catch(async (error: unknown) => {
        log.warn({ error, webhook: webhook.id }, "how a delivery went could not be noted; it is tried again");
        await sleep(clock, leastLookMs, this.#ended.signal).catch(() => {});
      })
      .finally(() => {
        this.#underWay.delete(delivery.id);
        this.wake([webhook.id]);
      });
    this.#underWay.set(delivery.id, { owner: ownerOf(webhook), webhook: webhook.id, ended });
  }

  async #deliver(delivery: Delivery, webhook: Webhook): Promise<void> {
    const { events, clock, random, send, log } = this.#deps;
    if (this.#ended.signal.aborted) return;
    const outcome = webhook.enabled ? await send(webhook, delivery, this.#ended.signal) : undefined;
    // Cut off by our own end: the next process tries again.
    if (this.#ended.signal.aborted && outcome?.kind !== "accepted") return;
    if (outcome?.kind === "refused") this.#failing.add(webhook.id);
    else this.#failing.delete(webhook.id);
    const backoff = (failures: number): number => backoffMs(deliveryBackoff, failures, random);
    const plan = planDelivery({ delivery, outcome, nowMs: clock.now(), backoff });
    if (plan.kind === "done") await events.delivered(delivery.id);
    else await events.failed(delivery.id, plan.failure);
    if (plan.result === undefined) return;
    this.#count(plan.result);
    const about = { webhook: delivery.webhook, event: delivery.event.id, attempts: delivery.attempts + 1 };
    if (plan.result === "dead") log.warn(about, "an event was given up: its webhook did not take it for three days");
  }
}

/** A webhook without a team belongs to an admin, and counts as a team of its own. */
function ownerOf({ team, id }: Webhook): string {
  return team === "" ? `webhook ${id}` : `team ${team}`;
}
