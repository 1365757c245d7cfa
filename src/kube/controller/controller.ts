/**
 * Controllers: loops that bring objects to where they should be.
 *
 * - `controller.ts`        the loop around a reconciler
 * - `key.ts`               what it works on
 * - `source.ts`            what wakes it: changes of an informer
 * - `work-queue.ts`        when its keys run; rules Q1 to Q6
 * - `lanes.ts`             keys that wait, by what they need to run
 * - `work-queue-metrics.ts` what the queue tells of itself
 * - `expectations.ts`      creates and deletes of ours that the cache has not shown yet
 *
 * The loop is level-based: a key comes in, "look again after" or an error comes out, and what happened to the object is
 * withheld, so a lost, doubled or late event cannot change what is done (I10).
 */
import type { Backoff, Random } from "#lib/backoff.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import { formatKey, type Key, parseKey } from "./key.ts";
import type { Place, Rank } from "#lib/lanes.ts";
import type { Source, SourceConnection } from "./source.ts";
import { type Failure, type Requeue, WorkQueue } from "./work-queue.ts";

export interface ControllerDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly random?: Random | undefined;
}

export interface ControllerOptions {
  readonly name: string;
  /** Brings what the key stands for to where it should be. May run at any time, any number of times, never twice at once for a key. */
  readonly reconcile: (key: Key, signal: AbortSignal) => Promise<Requeue>;
  readonly sources: readonly Source[];
  /** Each ends something that the reconciler follows beside them; called when nothing is under way any more. */
  readonly following?: readonly (() => void)[];
  readonly concurrency?: number;
  /** In place of `concurrency` (work-queue.ts). */
  readonly places?: (key: Key) => readonly Place[];
  readonly backoff?: Backoff;
  /** When it ends the controller works no more; a leader passes its own. */
  readonly signal?: AbortSignal;
}

export interface Controller {
  /** Resolves when all sources are synced and keys begin to run; rejects when that will not come. */
  readonly started: Promise<void>;
  /** Wakes the controller for a key; for what no source sees. */
  add(key: Key): void;
  addAfter(key: Key, ms: number): void;
  /** Works no more, and waits for what is under way. */
  stop(withinMs?: number): Promise<void>;
}

const defaultStopMs = 10_000;

export function startController(deps: ControllerDeps, options: ControllerOptions): Controller {
  const log = deps.log.with({ controller: options.name });
  const stopping = new AbortController();
  const { places } = options;
  const results = deps.metrics.counter({
    name: "agentbox_reconcile_total",
    help: "Reconciles by how they ended.",
    labels: ["controller", "result"],
  });
  const ended = (result: string): void => results.add({ controller: options.name, result });
  const queue = new WorkQueue({
    ...deps,
    ...options,
    places: places === undefined ? undefined : (text) => places(parseKey(text)),
    run: async (text, signal) => {
      await deps.clock.turns?.next();
      const requeue = await options.reconcile(parseKey(text), signal);
      ended(requeue === undefined ? "done" : "requeue");
      return requeue;
    },
    onFailure: (failure) => {
      ended(failure.retryInMs === undefined ? "terminal" : "error");
      report(log, failure);
    },
  });
  const add = (key: Key, rank?: Rank): void => queue.add(formatKey(key), rank);
  const connections = options.sources.map((source) => source.connect(add));
  const started = startWhenSynced(
    queue,
    connections,
    options.signal === undefined ? stopping.signal : AbortSignal.any([stopping.signal, options.signal]),
  );
  started.catch((error: unknown) => {
    if (!stopping.signal.aborted) log.error({ error }, "controller not started: its sources did not sync");
  });
  return {
    started,
    add: (key) => add(key),
    addAfter: (key, ms) => queue.addAfter(formatKey(key), ms),
    stop: async (withinMs = defaultStopMs) => {
      stopping.abort(new Error(`the controller ${options.name} was stopped`));
      for (const connection of connections) connection.remove();
      const unfinished = await queue.stop(withinMs);
      for (const end of options.following ?? []) end();
      if (unfinished.length > 0) log.warn({ keys: unfinished, withinMs }, "controller stopped while reconciles were under way");
    },
  };
}

/** A reconcile before that would take what the cache has not loaded yet for gone. */
async function startWhenSynced(queue: WorkQueue, connections: readonly SourceConnection[], signal: AbortSignal): Promise<void> {
  await Promise.all(connections.map((connection) => connection.whenSynced(signal)));
  signal.throwIfAborted();
  queue.start();
}

function report(log: Logger, { key, error, failures, retryInMs }: Failure): void {
  if (retryInMs === undefined) log.error({ key, error }, "reconcile failed; not tried again until something changes");
  else log.warn({ key, error, failures, retryInMs }, "reconcile failed; will be tried again");
}
