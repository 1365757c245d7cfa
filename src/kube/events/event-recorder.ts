/**
 * Events about objects, for people: one Event for each thing that happens, counted up when it happens again. The name of an Event is derived from its
 * content, so a later process continues the count. No caller waits for an event; an event that cannot be written is dropped and counted. A budget keeps a
 * broken object from filling the store.
 */
import { createHash } from "node:crypto";
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { type Clock, kubernetesTime } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Counter, Metrics } from "#lib/metrics.ts";
import { Events, type ObjectEvent } from "#model/core-kinds.ts";

export interface EventRecorderDeps {
  readonly client: ObjectClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** The component that reports, such as agentbox-node. */
  readonly component: string;
  /** Which one of them: the name of its node, or of its machine. */
  readonly host: string;
}

/** What an event is about: an object that the server has named. */
export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  /** Left out for cluster-scoped objects. */
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly uid: string;
  /** The part of the object that it is about. */
  readonly fieldPath?: string | undefined;
}

export interface Happening {
  readonly type: "Normal" | "Warning";
  /** One CamelCase word, for programs. */
  readonly reason: string;
  readonly message: string;
}

/** Where events about cluster-scoped objects are kept: an Event itself always has a namespace. */
const clusterNamespace = "default";
/** Waiting to be written; more than these only when the store does not answer. */
const maxWaiting = 1_000;
const maxMessage = 1_024;
/** A name is at most 253 characters, and the hash takes 17 of them. */
const maxNamePart = 236;

/** Something that happened `count` times since it was last written. */
interface Waiting {
  readonly event: ObjectEvent & { readonly metadata: { readonly name: string; readonly namespace: string } };
  count: number;
  at: number;
}

export class EventRecorder {
  readonly #deps: EventRecorderDeps;
  readonly #waiting = new Map<string, Waiting>();
  readonly #budgets = new Map<string, EventBudget>();
  readonly #dropped: Counter<"component" | "why">;
  #writing: Promise<void> | undefined;

  constructor(deps: EventRecorderDeps) {
    this.#deps = deps;
    this.#dropped = deps.metrics.counter({
      name: "agentbox_events_dropped_total",
      help: "Events that were not written, by reporting component and reason.",
      labels: ["component", "why"],
    });
  }

  record(subject: EventSubject, happening: Happening): void {
    const now = this.#deps.clock.now();
    const event = this.#eventOf(subject, happening);
    const key = `${event.metadata.namespace}/${event.metadata.name}`;
    const same = this.#waiting.get(key);
    if (same !== undefined) {
      same.count += 1;
      same.at = now;
      return;
    }
    // What goes well must not use up what trouble will need.
    const account = `${subject.uid} ${happening.type}`;
    const budget = spend(this.#budgets.get(account), now);
    if (budget === undefined || this.#waiting.size >= maxWaiting) {
      this.#drop(budget === undefined ? "too many about one object" : "store too slow");
      return;
    }
    this.#budgets.set(account, budget);
    this.#waiting.set(key, { event, count: 1, at: now });
    this.#writing ??= this.#write();
  }

  /** The object is gone; its events go by their age. */
  forget(uid: string): void {
    for (const type of ["Normal", "Warning"]) this.#budgets.delete(`${uid} ${type}`);
  }

  /** Resolves when everything told so far is written or dropped. */
  async written(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    for (const [key, waiting] of this.#waiting) {
      // What is told from now on is another write.
      this.#waiting.delete(key);
      try {
        await this.#put(waiting);
      } catch (error) {
        // A namespace that is going takes no more events; that is no trouble.
        if (!isApiError(error, "Forbidden", "NotFound")) this.#deps.log.warn({ error, event: key }, "event not written");
        this.#drop("refused");
      }
    }
    this.#writing = undefined;
  }

  async #put({ event, count, at }: Waiting): Promise<void> {
    const { client } = this.#deps;
    const time = kubernetesTime(at);
    try {
      await client.create(Events, { ...event, count, firstTimestamp: time, lastTimestamp: time });
    } catch (error) {
      if (!isApiError(error, "AlreadyExists")) throw error;
      const { namespace, name } = event.metadata;
      const before = await client.get(Events, { namespace, name });
      await client.patch(Events, { namespace, name }, { type: "merge", body: { count: (before.count ?? 1) + count, lastTimestamp: time } });
    }
  }

  #drop(why: string): void {
    this.#dropped.add({ component: this.#deps.component, why });
  }

  #eventOf(subject: EventSubject, { type, reason, message: whole }: Happening): Waiting["event"] {
    const { component, host } = this.#deps;
    const { apiVersion, kind, name, namespace, uid, fieldPath } = subject;
    const message = whole.slice(0, maxMessage);
    const what = createHash("sha256")
      .update(JSON.stringify([uid, fieldPath, type, reason, message]))
      .digest("hex")
      .slice(0, 16);
    const place = namespace === undefined ? {} : { namespace };
    return {
      metadata: { name: `${name.slice(0, maxNamePart)}.${what}`, namespace: namespace ?? clusterNamespace },
      involvedObject: { apiVersion, kind, ...place, name, uid, ...(fieldPath === undefined ? {} : { fieldPath }) },
      type,
      reason,
      message,
      source: { component, host },
      reportingComponent: component,
      reportingInstance: host,
    };
  }
}

/** How many events one object may make: a few at once, then one in a while. What a broken one repeats is not worth a store full of it. */
interface EventBudget {
  readonly tokens: number;
  readonly at: number;
}

const burst = 25;
const msPerToken = 10_000;

/** What is left after one more event; undefined when there is nothing to spend. */
function spend(budget: EventBudget | undefined, now: number): EventBudget | undefined {
  const tokens = budget === undefined ? burst : Math.min(burst, budget.tokens + (now - budget.at) / msPerToken);
  return tokens < 1 ? undefined : { tokens: tokens - 1, at: now };
}
