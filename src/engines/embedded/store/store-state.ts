import type { KindRules } from "#engines/embedded/admission/kind-rules.ts";
import { ApiError } from "#kube/api-error.ts";
import type { Clock } from "#lib/clock.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { ApiObject } from "#model/meta.ts";
import { type ResourceType, resourceName } from "#model/resource.ts";
import { type CollectorNote, readNote, writeNote } from "./collector-note.ts";
import { type CommittedChange, ObjectTable } from "./object-table.ts";
import { noSuchResource } from "./refusals.ts";
import type { Revision, RevisionLog } from "./revision-log.ts";

/** What a write wants to be true: this object under this key, or none. */
export interface Change {
  readonly table: ObjectTable;
  readonly key: string;
  readonly object: ApiObject | undefined;
}

export interface StoreStateOptions {
  readonly log: RevisionLog;
  readonly kinds: readonly KindRules[];
  readonly clock: Clock;
  /** How many changes of a kind stay in memory for watchers. */
  readonly tailEvents: number;
}

/**
 * What is true now. `commit` is the only way to change it. All of it is synchronous, so nothing can happen between a
 * look and the write that follows from it: there are no locks and no retries.
 */
export class StoreState {
  readonly log: RevisionLog;
  readonly clock: Clock;
  readonly #tables = new Map<string, ObjectTable>();
  readonly #listeners: ((change: CommittedChange) => void)[] = [];
  #newest: number;

  constructor({ log, kinds, clock, tailEvents }: StoreStateOptions) {
    this.log = log;
    this.clock = clock;
    this.#newest = log.newest();
    for (const rules of kinds) {
      this.#tables.set(resourceName(rules.resource), new ObjectTable({ rules, log, newest: this.#newest, tailEvents }));
    }
    this.#load();
  }

  #load(): void {
    const byId = new Map(Array.from(this.#tables.values(), (table) => [table.id, table]));
    // Many objects have the same owner: their notes are one.
    const notes = new Map<string, CollectorNote>();
    for (const { resource, key, rv, note: noteText } of this.log.live()) {
      let note = noteText === undefined ? undefined : notes.get(noteText);
      if (noteText !== undefined && note === undefined) {
        note = readNote(noteText);
        notes.set(noteText, note);
      }
      // A kind that this version of AgentBox does not serve has no table; its data stays for one that does.
      byId.get(resource)?.load({ key, rv, noteText, note });
    }
  }

  /** The newest version: the state of everything. */
  get newest(): number {
    return this.#newest;
  }

  tables(): Iterable<ObjectTable> {
    return this.#tables.values();
  }

  table(type: ResourceType): ObjectTable {
    const table = this.#tables.get(resourceName(type));
    if (table === undefined) throw noSuchResource();
    return table;
  }

  onCommit(listener: (change: CommittedChange) => void): void {
    this.#listeners.push(listener);
  }

  /** Makes the changes true and lasting, all or none, each under a version of its own. Returns what the last one left. */
  commit(...changes: readonly Change[]): ApiObject | undefined {
    const writtenAt = this.clock.now();
    const staged = changes.map((change, i) => stage(change, this.#newest + 1 + i, writtenAt));
    this.#append(staged.map(({ revision }) => revision));
    this.#newest += changes.length;
    const committed = staged.map(({ table, object, revision }) => {
      return table.apply({ rv: revision.rv, key: revision.key, object, noteText: revision.note });
    });
    for (const change of committed) for (const listener of this.#listeners) listener(change);
    for (const { table } of committed) table.tail.announce();
    return staged.at(-1)?.object;
  }

  #append(revisions: readonly Revision[]): void {
    try {
      this.log.append(revisions);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new ApiError("InternalError", `Internal error occurred: the data file cannot be written: ${why}`, { cause });
    }
  }
}

interface Staged {
  readonly table: ObjectTable;
  readonly object: ApiObject | undefined;
  readonly revision: Revision;
}

function stage({ table, key, object }: Change, rv: number, writtenAt: number): Staged {
  const place = { rv, resource: table.id, key, writtenAt };
  if (object === undefined) return { table, object, revision: { ...place, note: undefined, data: undefined } };
  const { metadata } = object;
  const versioned = deepFreeze({ ...object, metadata: { ...metadata, resourceVersion: String(rv) } });
  const revision = { ...place, note: writeNote(metadata), data: JSON.stringify(versioned) };
  return { table, object: versioned, revision };
}
