import { ApiError } from "#kube/api-error.ts";
import type { ListOptions, ObjectList } from "#kube/object-client.ts";
import type { ApiObject } from "#model/meta.ts";
import { namespacePrefix } from "./keys.ts";
import type { ObjectTable } from "./object-table.ts";
import { badRequest } from "./refusals.ts";
import { type Selection, selectionOf } from "./selection.ts";
import type { StoreState } from "./store-state.ts";

/** Where a list goes on. Opaque to clients. */
interface Continuation {
  /** The state that the first page showed, and so all pages show. */
  readonly rv: number;
  /** The last key that was looked at. */
  readonly after: string;
  /** How many objects come after that key; counted once, on the first page. */
  readonly remaining: number;
}

/** How many keys of an old state are read from the log at a time. */
const snapshotBatch = 500;

/** One page of a list, or all of it. Pages of one list show one state, whatever has been written between them. */
export function listPage(state: StoreState, table: ObjectTable, options: ListOptions): ObjectList<ApiObject> {
  const selection = selectionOf(table, options);
  const prefix = namespacePrefix(table.type, options.namespace);
  const from = (options.continue ?? "") === "" ? undefined : readToken(state, options.continue ?? "");
  const rv = from?.rv ?? state.newest;
  const objects = objectsAt(state, table, { prefix, start: from === undefined ? prefix : `${from.after}\0`, rv });
  const { items, seen, last } = takePage(objects, selection, options.limit ?? 0);
  if (last === undefined) return { items, resourceVersion: String(rv) };
  const remaining = (from?.remaining ?? table.count(prefix)) - seen;
  return {
    items,
    resourceVersion: String(rv),
    continue: writeToken({ rv, after: last, remaining }),
    // With a selector it is not known how many of the rest will match.
    ...(selection === undefined ? { remainingItemCount: remaining } : {}),
  };
}

interface Page {
  readonly items: readonly ApiObject[];
  /** How many objects were looked at, matching or not. */
  readonly seen: number;
  /** The last key that was looked at, if there are more after it. */
  readonly last?: string;
}

/** A limit of 0 is none. */
function takePage(objects: Iterable<Located>, selection: Selection | undefined, limit: number): Page {
  const items: ApiObject[] = [];
  let seen = 0;
  let last = "";
  for (const { key, object } of objects) {
    if (limit > 0 && items.length >= limit) return { items, seen, last };
    seen++;
    last = key;
    if (selection === undefined || selection(object)) items.push(object);
  }
  return { items, seen };
}

interface Located {
  readonly key: string;
  readonly object: ApiObject;
}

interface Range {
  readonly prefix: string;
  readonly start: string;
  readonly rv: number;
}

function* objectsAt(state: StoreState, table: ObjectTable, { prefix, start, rv }: Range): Generator<Located> {
  if (table.newest <= rv) {
    for (const { key } of table.range(prefix, start)) {
      const object = table.get(key);
      if (object !== undefined) yield { key, object };
    }
    return;
  }
  for (let from = start; ;) {
    const rows = state.log.snapshot(table.id, { prefix, from }, rv, snapshotBatch);
    for (const row of rows) {
      if (!row.deleted) yield { key: row.key, object: table.objectAt(row.key, row.rv, () => state.log.data(row.rv)) };
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < snapshotBatch) return;
    from = `${last.key}\0`;
  }
}

function writeToken(continuation: Continuation): string {
  return Buffer.from(JSON.stringify(continuation)).toString("base64url");
}

function readToken(state: StoreState, token: string): Continuation {
  const continuation = decodeToken(token);
  if (continuation.rv < state.log.compacted || continuation.rv > state.newest) {
    throw new ApiError("Expired", "the continue parameter is too old to go on with a consistent list: start a new list without it");
  }
  return continuation;
}

function decodeToken(token: string): Continuation {
  let read: unknown;
  try {
    read = JSON.parse(Buffer.from(token, "base64url").toString());
  } catch {
    read = undefined;
  }
  const { rv, after, remaining } = (read ?? {}) as Partial<Record<keyof Continuation, unknown>>;
  if (typeof rv === "number" && typeof after === "string" && typeof remaining === "number") return { rv, after, remaining };
  throw badRequest("invalid continue token: it is not one that a list of this server gave");
}
