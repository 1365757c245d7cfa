import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient, ObjectList, WatchEvent } from "#kube/object-client.ts";
import { ChildAbort } from "#lib/abortable.ts";
import type { Random } from "#lib/backoff.ts";
import { type MonotonicClock, sleep } from "#lib/clock.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";
import { firstStep, nextStep, type Outcome, type Retries } from "./next-step.ts";

/** What is followed: one kind, or a part of it. */
export interface Source<T extends ApiObject> {
  readonly type: ResourceType<T>;
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  /** Left to the server: it must be of fields that an object never changes, or own writes would be taken for members. */
  readonly fieldSelector?: string | undefined;
}

/** Receives what the server sends. */
export interface Sink<T extends ApiObject> {
  /** A list is asked for; the returned function takes its answer. */
  startList(): (list: Pick<ObjectList<T>, "items" | "resourceVersion">) => void;
  /** The version after which the next watch goes on. */
  seen(): string;
  event(event: WatchEvent<T>): void;
  /** How an attempt ended, and how long until the next one. */
  attempted(outcome: Outcome, pauseMs: number): void;
}

export interface Pace extends Retries {
  /** Objects per page of a list. */
  readonly pageSize: number;
  /** A watch that brings neither event nor bookmark for so long is taken for dead. API servers send bookmarks every minute. */
  readonly idleTimeoutMs: number;
  /** We ask the server to end a watch after this time, up to doubled by chance, so that reconnects spread over time and servers. */
  readonly watchTimeoutMs: number;
  /** A connection that lasted so long has held. */
  readonly heldMs: number;
}

export interface ListAndWatchDeps {
  readonly client: ObjectClient;
  readonly clock: MonotonicClock;
  readonly random: Random;
}

/** Lists, then watches, for ever: until the signal is aborted. Then it returns; it never throws. */
export async function listAndWatch<T extends ApiObject>(
  deps: ListAndWatchDeps,
  { source, pace }: { readonly source: Source<T>; readonly pace: Pace },
  sink: Sink<T>,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, random } = deps;
  let step = firstStep;
  while (!signal.aborted) {
    const outcome =
      step.next === "watch"
        ? await new Watch(deps, source, pace).run(sink, signal)
        : await list(client, source, sink, { limit: step.next === "list" ? pace.pageSize : undefined, signal });
    if (signal.aborted) return;
    step = nextStep(step, outcome, pace, random);
    sink.attempted(outcome, step.pauseMs);
    if (step.pauseMs > 0) await sleep(clock, step.pauseMs, signal).catch(() => {});
  }
}

async function list<T extends ApiObject>(
  client: ObjectClient,
  source: Source<T>,
  sink: Sink<T>,
  options: { readonly limit: number | undefined; readonly signal: AbortSignal },
): Promise<Outcome> {
  const { type, namespace, labelSelector, fieldSelector } = source;
  const done = sink.startList();
  try {
    const first = await client.list(type, { namespace, labelSelector, fieldSelector, ...options });
    const items = [...first.items];
    for (let more = first.continue; more !== undefined && more !== "";) {
      const page: ObjectList<T> = await client.list(type, { namespace, labelSelector, fieldSelector, ...options, continue: more });
      items.push(...page.items);
      more = page.continue;
    }
    // The first page fixes the state that all pages show; a watch goes on from there.
    done({ items, resourceVersion: first.resourceVersion });
    return { kind: "listed" };
  } catch (error) {
    return isApiError(error, "Expired", "Gone") ? { kind: "list-expired" } : { kind: "failed", held: false, error };
  }
}

const starved = new Error("the watch brought neither events nor bookmarks");

/** One watch, from its start to its end. */
class Watch<T extends ApiObject> {
  readonly #deps: ListAndWatchDeps;
  readonly #source: Source<T>;
  readonly #pace: Pace;
  readonly #startedAt: number;
  #lastSignOfLife: number;
  #silent = true;

  constructor(deps: ListAndWatchDeps, source: Source<T>, pace: Pace) {
    this.#deps = deps;
    this.#source = source;
    this.#pace = pace;
    this.#startedAt = deps.clock.monotonic();
    this.#lastSignOfLife = this.#startedAt;
  }

  async run(sink: Sink<T>, parent: AbortSignal): Promise<Outcome> {
    using abort = new ChildAbort(parent);
    const stopGuard = this.#guardAgainstSilence(abort);
    try {
      for await (const event of this.#events(sink.seen(), abort.signal)) {
        this.#silent = false;
        this.#lastSignOfLife = this.#deps.clock.monotonic();
        sink.event(event);
      }
      return { kind: "ended", held: this.#lasted() };
    } catch (error) {
      if (abort.signal.reason === starved) return { kind: "starved" };
      // That a silent connection took long to fail proves nothing: it may never have been one.
      const held = this.#lasted() && !this.#silent;
      return cannotGoOnFromThere(error) ? { kind: "expired", held: this.#lasted() } : { kind: "failed", held, error };
    } finally {
      stopGuard();
    }
  }

  #events(resourceVersion: string, signal: AbortSignal): AsyncIterable<WatchEvent<T>> {
    const { type, namespace, labelSelector, fieldSelector } = this.#source;
    const timeoutSeconds = Math.ceil((this.#pace.watchTimeoutMs * (1 + this.#deps.random())) / 1000);
    const selected = { namespace, labelSelector, fieldSelector };
    return this.#deps.client.watch(type, { ...selected, resourceVersion, bookmarks: true, timeoutSeconds, signal });
  }

  /** One timer for many events: when it fires and there was life meanwhile, it is set anew for the rest. */
  #guardAgainstSilence(abort: ChildAbort): () => void {
    const { clock } = this.#deps;
    const guard = (ms: number): void => {
      timer = clock.after(ms, () => {
        const left = this.#lastSignOfLife + this.#pace.idleTimeoutMs - clock.monotonic();
        if (left > 0) guard(left);
        else abort.abort(starved);
      });
    };
    let timer = { cancel: (): void => {} };
    guard(this.#pace.idleTimeoutMs);
    return () => timer.cancel();
  }

  #lasted(): boolean {
    return this.#deps.clock.monotonic() - this.#startedAt >= this.#pace.heldMs;
  }
}

/** The server answered, and said that our version is of no use to it: too old, or newer than anything it has (another history). */
function cannotGoOnFromThere(error: unknown): boolean {
  if (isApiError(error, "Expired", "Gone")) return true;
  return isApiError(error) && error.causes.some((cause) => cause.reason === "ResourceVersionTooLarge");
}
