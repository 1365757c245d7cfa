/**
 * Records what happens to sandboxes, in order, as events: it compares the state of each pod with the events that are stored. So it also finds what happened
 * while no process was running. The end of a sandbox whose pod is gone comes from the history.
 */
import { setImmediate } from "node:timers/promises";
import { type Clock, sleep } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxEvent } from "#model/sandbox-event.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { after, endOf, eventsOf, toldBy, type Told } from "#sandbox/events/plan-events.ts";
import { isFor, type Webhook } from "#sandbox/events/webhook.ts";
import type { Begun } from "#store/events/event-store.ts";
import type { HistoryStore } from "#store/history-store.ts";

export interface RecorderDeps {
  readonly cache: Pick<SandboxCache, "pods" | "podsOfSandbox">;
  readonly history: Pick<HistoryStore, "events" | "get">;
  /** All webhooks that exist now. */
  readonly webhooks: () => Promise<readonly Webhook[]>;
  /** Called with the webhooks that have something new to be delivered. */
  readonly onStored: (webhooks: readonly string[]) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The pause when the database or the object server does not answer: everything waits, and nothing is lost. */
const pauseMs = 1000;
/** How often to look for sandboxes that ended without a pod that shows it. */
const sweepMs = 30_000;
/** No sandbox has so many states waiting; above this bound only the newest are kept. */
const mostStates = 64;
const mostStored = 200;
const sweepPage = 500;

export class LifecycleRecorder implements AsyncDisposable {
  readonly #deps: RecorderDeps;
  /** States that were not compared yet, by sandbox. */
  readonly #waiting = new Map<string, Pod[]>();
  readonly #told = new Map<string, Told>();
  readonly #ended = new AbortController();
  readonly #running: Promise<unknown>;
  readonly #remove: () => void;
  #wake = Promise.withResolvers<void>();

  constructor(deps: RecorderDeps) {
    this.#deps = deps;
    const registration = deps.cache.pods.onChange((now, before) => {
      if (now !== undefined) this.#see(now);
      const gone = before && sandboxIdOf(before);
      if (gone !== undefined && (now === undefined || sandboxIdOf(now) !== gone)) this.#told.delete(gone);
    });
    this.#remove = () => registration.remove();
    this.#running = Promise.all([this.#record(), this.#sweep()]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#remove();
    this.#ended.abort();
    this.#wake.resolve();
    await this.#running;
  }

  #see(pod: Pod): void {
    const sandboxId = sandboxIdOf(pod);
    if (sandboxId === undefined) return;
    const states = this.#waiting.get(sandboxId) ?? [];
    states.push(pod);
    if (states.length > mostStates) states.shift();
    this.#waiting.set(sandboxId, states);
    this.#wake.resolve();
  }

  async #record(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      const next = this.#waiting.entries().next().value;
      if (next === undefined) {
        this.#wake = Promise.withResolvers<void>();
        await this.#wake.promise;
        continue;
      }
      const [sandboxId, states] = next;
      const [pod] = states;
      if (pod !== undefined && !(await this.#done(() => this.#recordPod(sandboxId, pod)))) continue;
      states.shift();
      // To the end of the line: a sandbox that changes all the time must not delay the events of the others.
      this.#waiting.delete(sandboxId);
      if (states.length > 0) this.#waiting.set(sandboxId, states);
    }
  }

  async #recordPod(sandboxId: string, pod: Pod): Promise<void> {
    const told = await this.#toldOf(sandboxId);
    await this.#store(sandboxId, told, eventsOf(told, pod, this.#deps.clock.now()));
  }

  async #toldOf(sandboxId: string): Promise<Told> {
    return this.#told.get(sandboxId) ?? toldBy(await this.#deps.history.events.newestOf(sandboxId, mostStored));
  }

  async #store(sandboxId: string, before: Told, events: readonly SandboxEvent[]): Promise<void> {
    const { history, webhooks, onStored } = this.#deps;
    let told = before;
    for (const event of events) {
      const ids = (await webhooks()).filter((webhook) => isFor(webhook, event)).map(({ id }) => id);
      await history.events.append(event, ids);
      told = after(told, event);
      if (ids.length > 0) onStored(ids);
    }
    if (told.isKilled) this.#told.delete(sandboxId);
    else this.#told.set(sandboxId, told);
  }

  /** Resolves with false, after a pause, if it must be tried again. */
  async #done(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (this.#ended.signal.aborted) return true;
      this.#deps.log.warn({ error }, "an event of a sandbox could not be noted; it is tried again");
      await sleep(this.#deps.clock, pauseMs, this.#ended.signal).catch(() => {});
      return false;
    }
  }

  /** The first look comes at once: the process before this one may have died at any point. */
  async #sweep(): Promise<void> {
    const { clock, cache } = this.#deps;
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await this.#done(async () => {
        for (let last: string | undefined = ""; last !== undefined && !signal.aborted;) {
          const begun: Begun = await this.#deps.history.events.begun(last, sweepPage);
          for (const id of begun.unended) if (!signal.aborted && cache.podsOfSandbox(id).next().done === true) await this.#tellEnd(id);
          last = begun.last;
          // SQLite works in this thread, and a week has many sandboxes.
          await setImmediate();
        }
      });
      await sleep(clock, sweepMs, signal).catch(() => {});
    }
  }

  async #tellEnd(sandboxId: string): Promise<void> {
    const record = await this.#deps.history.get(sandboxId, { kind: "admin" });
    if (record === undefined) return;
    const told = toldBy(await this.#deps.history.events.newestOf(sandboxId, mostStored));
    await this.#store(sandboxId, told, endOf(told, record, this.#deps.clock.now()));
  }
}
