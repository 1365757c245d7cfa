/**
 * Events about pods: one object for each thing that happens, counted up when it happens again. The object's name follows
 * from what it says, so an agent that comes later goes on counting in it. Nobody waits for an event; what cannot be
 * written is dropped and counted (event-budget.ts keeps a broken pod from filling the store).
 */
import { createHash } from "node:crypto";
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { type Clock, kubernetesTime } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Counter, Metrics } from "#lib/metrics.ts";
import { Events, type ObjectEvent } from "#model/core-kinds.ts";
import type { PlannedEvent } from "../plan/action.ts";
import type { NodePod } from "../pod-fields.ts";
import { type EventBudget, spend } from "./event-budget.ts";

export interface EventRecorderDeps {
  readonly client: ObjectClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly nodeName: string;
}

const component = "agentbox-node";
/** Waiting to be written; more than these only when the store does not answer. */
const maxWaiting = 1_000;
const maxMessage = 1_024;

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
  readonly #dropped: Counter<"why">;
  #writing: Promise<void> | undefined;

  constructor(deps: EventRecorderDeps) {
    this.#deps = deps;
    this.#dropped = deps.metrics.counter({
      name: "agentbox_node_events_dropped_total",
      help: "Events about pods that were not written.",
      labels: ["why"],
    });
  }

  record(pod: NodePod, planned: PlannedEvent): void {
    const now = this.#deps.clock.now();
    const event = this.#eventOf(pod, planned);
    const { name } = event.metadata;
    const same = this.#waiting.get(name);
    if (same !== undefined) {
      same.count += 1;
      same.at = now;
      return;
    }
    // What goes well must not use up what trouble will need.
    const account = `${pod.metadata.uid} ${planned.type}`;
    const budget = spend(this.#budgets.get(account), now);
    if (budget === undefined || this.#waiting.size >= maxWaiting) {
      this.#dropped.add({ why: budget === undefined ? "too many about one pod" : "store too slow" });
      return;
    }
    this.#budgets.set(account, budget);
    this.#waiting.set(name, { event, count: 1, at: now });
    this.#writing ??= this.#write();
  }

  /** The pod is gone; its events go by their age. */
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
        this.#dropped.add({ why: "refused" });
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

  #eventOf({ metadata }: NodePod, { type, reason, message: whole, container }: PlannedEvent): Waiting["event"] {
    const { name, namespace, uid } = metadata;
    const message = whole.slice(0, maxMessage);
    const fieldPath = container === undefined ? undefined : `spec.${container.isInit ? "initContainers" : "containers"}{${container.name}}`;
    const what = createHash("sha256")
      .update(JSON.stringify([uid, fieldPath, type, reason, message]))
      .digest("hex")
      .slice(0, 16);
    return {
      metadata: { name: `${name}.${what}`, namespace },
      involvedObject: { kind: "Pod", apiVersion: "v1", namespace, name, uid, ...(fieldPath === undefined ? {} : { fieldPath }) },
      type,
      reason,
      message,
      source: { component, host: this.#deps.nodeName },
      reportingComponent: component,
      reportingInstance: this.#deps.nodeName,
    };
  }
}
