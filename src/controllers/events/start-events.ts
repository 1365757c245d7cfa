/**
 * Events of sandboxes, and webhooks (ADR 90). Only the process that runs the controllers records and delivers them.
 * - `lifecycle-recorder.ts`  records events              - `deliverer.ts`     delivers them to webhooks
 * - `plan-delivery.ts`       after each attempt          - `send-webhook.ts`  one request
 * - `sandbox/events/`        events from the state of a pod, and webhooks as they are stored
 */
import { setImmediate } from "node:timers/promises";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Random } from "#lib/backoff.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import { Secrets } from "#model/core-kinds.ts";
import { webhookLabel } from "#model/keys.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { storedWebhook, type Webhook } from "#sandbox/events/webhook.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { Deliverer } from "./deliverer.ts";
import { LifecycleRecorder } from "./lifecycle-recorder.ts";
import { webhookSender } from "./send-webhook.ts";

export interface EventsOptions {
  readonly client: Pick<ObjectClient, "list">;
  readonly cache: Pick<SandboxCache, "pods" | "podsOfSandbox">;
  readonly history: Pick<HistoryStore, "events" | "get">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly random: Random;
  /** Where webhooks are stored. */
  readonly webhookNamespace: string;
  /** Hosts that webhooks may use although their addresses are not public. */
  readonly webhookHosts: readonly string[];
}

/** A webhook that was created, changed or deleted takes effect within this time. */
const freshMs = 1000;
const keptMs = 7 * 24 * 3_600_000;
const pruneEveryMs = 3_600_000;
const pruneAtOnce = 500;
/** A team that changes its sandboxes all the time must not fill the disk within the week. */
const mostOfTeam = 100_000;
const trimEveryMs = 60_000;

export function startEvents(options: EventsOptions): AsyncDisposable {
  const { history, clock, log } = options;
  const webhooks = webhookList(options);
  const sender = webhookSender(options.webhookHosts);
  const deliverer = new Deliverer({ ...options, webhooks, events: history.events, send: sender.send });
  const recorder = new LifecycleRecorder({ cache: options.cache, history, webhooks, clock, log, onStored: (ids) => deliverer.wake(ids) });
  const ended = new AbortController();
  const pruning = prune(options, webhooks, ended.signal);
  return {
    [Symbol.asyncDispose]: async () => {
      ended.abort();
      await recorder[Symbol.asyncDispose]();
      await deliverer[Symbol.asyncDispose]();
      await sender[Symbol.asyncDispose]();
      await pruning;
    },
  };
}

function webhookList({ client, clock, webhookNamespace: namespace }: EventsOptions): () => Promise<readonly Webhook[]> {
  let kept: { readonly atMs: number; readonly list: Promise<readonly Webhook[]> } | undefined;
  const read = async (): Promise<readonly Webhook[]> => {
    const { items } = await client.list(Secrets, { namespace, labelSelector: `${webhookLabel}=true` });
    return items.flatMap((secret) => storedWebhook(secret) ?? []);
  };
  return () => {
    if (kept === undefined || clock.now() - kept.atMs >= freshMs) {
      kept = { atMs: clock.now(), list: read() };
      // A failed read is not kept.
      kept.list.catch(() => (kept = undefined));
    }
    return kept.list;
  };
}

async function prune(options: EventsOptions, webhooks: () => Promise<readonly Webhook[]>, signal: AbortSignal): Promise<void> {
  const { history, clock, log } = options;
  for (let sinceMs = -Infinity; !signal.aborted;) {
    try {
      await whileFull(signal, () => history.events.trim(mostOfTeam, pruneAtOnce));
      if (clock.now() - sinceMs >= pruneEveryMs) {
        sinceMs = clock.now();
        await whileFull(signal, () => history.events.prune(sinceMs - keptMs, pruneAtOnce));
        await tidyDeliveries(options, webhooks);
      }
    } catch (error) {
      log.warn({ error }, "old events could not be forgotten");
    }
    await sleep(clock, trimEveryMs, signal).catch(() => {});
  }
}

/** A step that is full is not the last one. Others run in between: SQLite works in this thread. */
async function whileFull(signal: AbortSignal, step: () => Promise<number>): Promise<void> {
  while (!signal.aborted && (await step()) >= pruneAtOnce) await setImmediate();
}

/** What a process left that died in between: deliveries of a webhook that is gone, and those that wait for one that is gone. */
async function tidyDeliveries({ history: { events } }: EventsOptions, webhooks: () => Promise<readonly Webhook[]>): Promise<void> {
  const stored = await events.webhooks();
  // After the deliveries: one that was made meanwhile is in the list.
  const known = new Set((await webhooks()).map(({ id }) => id));
  for (const id of stored) {
    await (known.has(id) ? events.repair(id) : events.dropWebhook(id));
    await setImmediate();
  }
}
