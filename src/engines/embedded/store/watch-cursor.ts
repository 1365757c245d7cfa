import type { WatchEvent, WatchOptions } from "#kube/object-client.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ObjectChange } from "./event-tail.ts";
import { namespacePrefix } from "./keys.ts";
import type { ObjectTable } from "./object-table.ts";
import { tooOldVersion, unnamedFailure } from "./refusals.ts";
import { type Selection, selectionOf } from "./selection.ts";
import type { StoreState } from "./store-state.ts";

/** How many changes a watcher that fell behind reads from the log at a time. */
const logBatch = 200;

/**
 * Where one watcher stands: everything up to its version has been shown to it or does not concern it. It takes the next
 * change from the tail in memory, from the log when it is further behind than that, and is refused when the log has
 * forgotten what comes next.
 */
export class WatchCursor {
  readonly #state: StoreState;
  readonly #table: ObjectTable;
  readonly #prefix: string;
  readonly #selection: Selection | undefined;
  #rv: number;
  /** What was there when the watch began, still to be shown. */
  #initial: Iterator<ApiObject> | undefined;
  #fromLog: ObjectChange[] = [];

  constructor(state: StoreState, table: ObjectTable, options: WatchOptions) {
    this.#state = state;
    this.#table = table;
    this.#prefix = namespacePrefix(table.type, options.namespace);
    this.#selection = selectionOf(table, options);
    this.#rv = parseVersion(options.resourceVersion);
    if (this.#rv !== 0) return;
    // Taken as a whole, because objects change while a slow watcher reads.
    this.#initial = this.#present().values();
    this.#rv = state.newest;
  }

  get rv(): number {
    return this.#rv;
  }

  /** The next event of a version up to `until`; undefined when there is none yet. */
  next(until: number): WatchEvent<ApiObject> | "initial-events-end" | undefined {
    const first = this.#initial?.next();
    if (first?.done === false) return { type: "ADDED", object: first.value };
    if (this.#initial !== undefined) {
      this.#initial = undefined;
      return "initial-events-end";
    }
    for (let change = this.#nextChange(until); change !== undefined; change = this.#nextChange(until)) {
      const event = change.key.startsWith(this.#prefix) ? eventOf(change, this.#selection) : undefined;
      if (event !== undefined) return event;
    }
    this.#rv = Math.max(this.#rv, Math.min(until, this.#state.newest));
    return undefined;
  }

  #present(): ApiObject[] {
    const objects: ApiObject[] = [];
    for (const { key } of this.#table.range(this.#prefix)) {
      const object = this.#table.get(key);
      if (object !== undefined && (this.#selection === undefined || this.#selection(object))) objects.push(object);
    }
    return objects;
  }

  #nextChange(until: number): ObjectChange | undefined {
    if (this.#fromLog.length === 0 && this.#rv < this.#table.tail.floor) this.#readLog();
    const logged = this.#fromLog[0];
    const change = logged ?? this.#table.tail.next(this.#rv);
    if (change === undefined || change.rv > until) return undefined;
    if (logged !== undefined) this.#fromLog.shift();
    this.#rv = change.rv;
    return change;
  }

  #readLog(): void {
    const { log, newest } = this.#state;
    if (this.#rv < log.compacted) throw tooOldVersion(this.#rv, log.compacted);
    const logged = log.changes(this.#table.id, this.#rv, newest, logBatch);
    this.#fromLog = logged.map(({ rv, key, data, before }) => ({
      rv,
      key,
      object: data === undefined ? undefined : this.#table.objectAt(key, rv, () => data),
      previous: before === undefined ? undefined : this.#table.parse(before, rv),
    }));
    // Nothing of this kind up to the newest version: from here on the tail has all.
    if (logged.length === 0) this.#rv = newest;
  }
}

/**
 * What a change is to a watcher with this selection: an object that begins to match is new to it, one that stops to match
 * is gone for it. A removal shows the last state that was seen, under the version of the change.
 */
export function eventOf({ rv, object, previous }: ObjectChange, selection: Selection | undefined): WatchEvent<ApiObject> | undefined {
  const matched = previous !== undefined && (selection === undefined || selection(previous));
  if (object !== undefined && (selection === undefined || selection(object))) return { type: matched ? "MODIFIED" : "ADDED", object };
  if (!matched) return undefined;
  return { type: "DELETED", object: deepFreeze({ ...previous, metadata: { ...previous.metadata, resourceVersion: String(rv) } }) };
}

function parseVersion(text: string | undefined): number {
  if (text === undefined || text === "") return 0;
  if (!/^\d+$/.test(text))
    throw unnamedFailure(`resourceVersion: Invalid value: ${JSON.stringify(text)}: it is not a version that this server gave`);
  return Number(text);
}
