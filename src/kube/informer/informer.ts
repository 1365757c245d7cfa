/**
 * Informers: a copy in memory of one kind of objects (or of a part of it) that follows the server.
 *
 * - `informer.ts`         the informer: start, stop, sync, handlers, health, and all reads
 * - `list-and-watch.ts`   the conversation with the server: list, watch, resume, relist
 * - `next-step.ts`        what to do after a list or watch ended (pure)
 * - `versioned-cache.ts`  what a list, event or own write changes (no I/O); rules V1 to V4
 * - `indexed-store.ts`    objects by key and by index
 * - `change-feed.ts`      handlers
 * - `strip.ts`            what is not worth keeping
 * - `versions.ts`         the order of resourceVersions
 *
 * There is no periodic resync: a resumed watch has no gap, and a gap is answered with a new list. Handlers are told of true
 * differences only. Reads never leave the process; ask the ObjectClient for the server's latest state.
 */
import { type ObjectClient, type ObjectKey } from "#kube/object-client.ts";
import { abortable } from "#lib/abortable.ts";
import type { Random } from "#lib/backoff.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { matchesLabels, parseLabelSelector } from "#model/label-selector.ts";
import type { ApiObject } from "#model/meta.ts";
import { resourceName } from "#model/resource.ts";
import { ChangeFeed, type ChangeHandler } from "./change-feed.ts";
import type { Index, ReadableObjects } from "./indexed-store.ts";
import { listAndWatch, type Pace, type Sink, type Source } from "./list-and-watch.ts";
import type { Outcome } from "./next-step.ts";
import { type Strip, stripBallast } from "./strip.ts";
import { type Change, VersionedCache } from "./versioned-cache.ts";

export interface InformerDeps {
  readonly client: ObjectClient;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  readonly random?: Random;
}

export interface InformerOptions<T extends ApiObject> extends Source<T> {
  readonly indexes?: readonly Index<T>[];
  readonly strip?: Strip<T>;
  /**
   * What readers see in place of an object. It may depend on more than the object, and is asked again with what it gave before when `refresh` is called. Its answer
   * has the object's name, uid and version.
   */
  readonly show?: (object: T) => T;
  readonly pace?: Partial<InformerPace>;
}

export interface InformerPace extends Pace {
  /** How long after its last error an informer counts as unhealthy. */
  readonly unhealthyMs: number;
}

export const defaultPace: InformerPace = {
  pageSize: 500,
  idleTimeoutMs: 150_000,
  watchTimeoutMs: 300_000,
  heldMs: 1_000,
  backoff: { baseMs: 200, maxMs: 30_000, jitter: "equal" },
  unhealthyMs: 120_000,
};

/** A handler's place at an informer. */
export interface Registration {
  /** True when the handler has been shown all objects that were there, and lives. */
  readonly synced: boolean;
  whenSynced(signal?: AbortSignal): Promise<void>;
  /** After this the handler is not called again. */
  remove(): void;
}

export type InformerHealth = { readonly healthy: true } | { readonly healthy: false; readonly reason: string };

/** Why an informer's sync will not come any more. */
export class InformerStoppedError extends Error {
  override readonly name = "InformerStoppedError";
}

export class Informer<T extends ApiObject> {
  readonly objects: ReadableObjects<T>;
  readonly #deps: InformerDeps;
  readonly #source: Source<T>;
  readonly #pace: InformerPace;
  readonly #shape: (object: T) => T;
  readonly #show: (object: T) => T;
  readonly #isOurs: (object: T) => boolean;
  readonly #cache: VersionedCache<T>;
  readonly #feed: ChangeFeed<T>;
  readonly #stop = new AbortController();
  readonly #sync = Promise.withResolvers<void>();
  #synced = false;
  #running: Promise<void> | undefined;
  #lastError: { readonly at: number; readonly error: unknown } | undefined;

  /** Throws LabelSelectorError when the selector is no selector. */
  constructor(deps: InformerDeps, options: InformerOptions<T>) {
    const { type, namespace, labelSelector, fieldSelector, indexes = [], strip = stripBallast, show = asItIs, pace } = options;
    const requirements = parseLabelSelector(labelSelector ?? "");
    this.#deps = { ...deps, log: deps.log.with({ resource: resourceName(type) }) };
    this.#source = { type, namespace, labelSelector, fieldSelector };
    this.#pace = { ...defaultPace, ...pace };
    this.#show = show;
    this.#shape = (object) => show(strip(object));
    this.#isOurs = ({ metadata }) =>
      (namespace === undefined || metadata.namespace === namespace) && matchesLabels(requirements, metadata.labels);
    this.#cache = new VersionedCache(indexes);
    this.objects = this.#cache.objects;
    this.#feed = new ChangeFeed((error) => this.#deps.log.error({ error }, "change handler failed"));
    // Callers that wait for the sync get this error; without a caller it must not count as unhandled.
    this.#sync.promise.catch(() => {});
  }

  /** Begins to follow the server. Once; an informer that was stopped stays so. */
  start(): void {
    if (this.#running !== undefined || this.#stop.signal.aborted) return;
    const { client, clock, random = Math.random } = this.#deps;
    this.#running = listAndWatch({ client, clock, random }, { source: this.#source, pace: this.#pace }, this.#sink(), this.#stop.signal);
  }

  /** Resolves when nothing of the informer is under way any more. What it holds can still be read. */
  async stop(): Promise<void> {
    const stopped = new InformerStoppedError(`the informer of ${resourceName(this.#source.type)} was stopped`);
    this.#stop.abort(stopped);
    this.#sync.reject(stopped);
    await this.#running;
  }

  /** True once the first list is complete. It stays true: later lists only close gaps. */
  get synced(): boolean {
    return this.#synced;
  }

  async whenSynced(signal?: AbortSignal): Promise<void> {
    await abortable(this.#sync.promise, signal);
  }

  onChange(handler: ChangeHandler<T>): Registration {
    const unsubscribe = this.#feed.subscribe(handler, this.objects.list());
    let removed = false;
    const isSynced = (): boolean => this.#synced && !removed;
    return {
      // Handlers are called in the turn in which the cache changes: a synced informer has shown them all it has.
      get synced() {
        return isSynced();
      },
      whenSynced: (signal) => this.whenSynced(signal),
      remove: () => {
        removed = true;
        unsubscribe();
      },
    };
  }

  /** The answer to our own write: readers see it now, and older events that are still on their way change nothing any more. */
  remember(object: T): void {
    if (this.#isOurs(object)) this.#feed.publish(this.#cache.remember(this.#shape(object)));
  }

  /** Something has changed that the object is shown with; nothing happens if it is not here, or shown as before. */
  refresh(key: ObjectKey): void {
    this.#feed.publish(this.#cache.reshape(key, this.#show));
  }

  get(key: ObjectKey): T | undefined {
    return this.objects.get(key);
  }

  health(): InformerHealth {
    const name = resourceName(this.#source.type);
    if (this.#stop.signal.aborted) return { healthy: false, reason: `${name}: stopped` };
    const last = this.#lastError;
    const ago = last === undefined ? Infinity : this.#deps.clock.monotonic() - last.at;
    const trouble = ago < this.#pace.unhealthyMs ? `${Math.round(ago / 1000)} s ago: ${describe(last?.error)}` : undefined;
    if (!this.#synced) return { healthy: false, reason: `${name}: not synced yet${trouble === undefined ? "" : `; ${trouble}`}` };
    return trouble === undefined ? { healthy: true } : { healthy: false, reason: `${name}: ${trouble}` };
  }

  #sink(): Sink<T> {
    return {
      startList: () => {
        const replace = this.#cache.startReplace();
        return ({ items, resourceVersion }) => {
          this.#feed.publish(replace({ items: items.map(this.#shape), resourceVersion }));
          this.#synced = true;
          this.#sync.resolve();
        };
      },
      seen: () => this.#cache.seen,
      event: (event) => {
        this.#feed.publish(this.#observe(event));
      },
      attempted: (outcome, pauseMs) => this.#note(outcome, pauseMs),
    };
  }

  #observe(event: Parameters<Sink<T>["event"]>[0]): readonly Change<T>[] {
    return this.#cache.observe(event.type === "BOOKMARK" ? event : { type: event.type, object: this.#shape(event.object) });
  }

  #note(outcome: Outcome, pauseMs: number): void {
    const { log, clock } = this.#deps;
    if (outcome.kind === "failed") {
      this.#lastError = { at: clock.monotonic(), error: outcome.error };
      log.warn({ error: outcome.error, retryInMs: pauseMs }, "list or watch failed");
    } else if (outcome.kind === "starved") {
      log.warn({ idleMs: this.#pace.idleTimeoutMs }, "watch starved; resuming");
    } else if (outcome.kind === "expired" || outcome.kind === "list-expired") {
      log.info({ retryInMs: pauseMs }, "history expired; listing again");
    }
  }
}

function asItIs<T>(object: T): T {
  return object;
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
