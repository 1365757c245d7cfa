import type { KindRules } from "#engines/embedded/admission/kind-rules.ts";
import { ApiError } from "#kube/api-error.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { ApiObject } from "#model/meta.ts";
import { type ResourceType, resourceName } from "#model/resource.ts";
import { type CollectorNote, readNote } from "./collector-note.ts";
import { EventTail } from "./event-tail.ts";
import { type KindTraits, traitsOf } from "./kind-traits.ts";
import type { RevisionLog } from "./revision-log.ts";
import { SortedEntries } from "#lib/sorted-entries.ts";

/** One object that is there. It stays the same entry through all changes of the object, until the object is removed. */
export interface Entry {
  readonly table: ObjectTable;
  readonly key: string;
  readonly rv: number;
  /** Replaced, never changed, when the object's owners or its waiting change. */
  readonly note: CollectorNote | undefined;
}

interface StoredEntry extends Entry {
  rv: number;
  note: CollectorNote | undefined;
  noteText: string | undefined;
  /** Parsed when it is first asked for, then kept. */
  object: ApiObject | undefined;
}

/** One new revision, on its way from the log into the table. */
export interface TableChange {
  readonly rv: number;
  readonly key: string;
  readonly object: ApiObject | undefined;
  readonly noteText: string | undefined;
}

export interface CommittedChange {
  readonly table: ObjectTable;
  readonly key: string;
  readonly object: ApiObject | undefined;
  readonly previous: ApiObject | undefined;
  /** The entry of the object: still there, or just gone. */
  readonly entry: Entry;
  readonly previousNote: CollectorNote | undefined;
}

export interface TableOptions {
  readonly rules: KindRules;
  readonly log: RevisionLog;
  /** The newest version of the store when the table is made. */
  readonly newest: number;
  /** How many changes stay in memory for watchers. */
  readonly tailEvents: number;
}

/** All objects of one kind that are there now, and their newest changes. Only StoreState changes it. */
export class ObjectTable {
  readonly type: ResourceType;
  readonly rules: KindRules;
  readonly traits: KindTraits;
  /** The log's number of the kind. */
  readonly id: number;
  readonly tail: EventTail;
  readonly #log: RevisionLog;
  readonly #entries = new Map<string, StoredEntry>();
  readonly #sorted = new SortedEntries<StoredEntry>();
  #newest: number;

  constructor({ rules, log, newest, tailEvents }: TableOptions) {
    this.type = rules.resource;
    this.rules = rules;
    this.traits = traitsOf(rules.resource);
    this.id = log.resourceId(resourceName(rules.resource));
    this.tail = new EventTail(tailEvents, newest);
    this.#log = log;
    this.#newest = newest;
  }

  /** No object of this kind has changed after this version. */
  get newest(): number {
    return this.#newest;
  }

  get size(): number {
    return this.#entries.size;
  }

  entry(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  /** The object under this key, frozen and shared by all readers. */
  get(key: string): ApiObject | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined ? undefined : this.#objectOf(entry);
  }

  /** Entries of a namespace (or of all) in order, beginning at `from`. Read to the end before the next write. */
  range(prefix: string, from?: string): Generator<Entry> {
    return this.#sorted.range(prefix, from);
  }

  count(prefix: string, from?: string): number {
    return this.#sorted.count(prefix, from);
  }

  /** An object as it was at a version, from memory if it still is like that. */
  objectAt(key: string, rv: number, data: () => string | undefined): ApiObject {
    const entry = this.#entries.get(key);
    return entry?.rv === rv ? this.#objectOf(entry) : this.parse(data(), rv);
  }

  /** An object as it was written as this version. */
  parse(data: string | undefined, rv: number): ApiObject {
    try {
      return deepFreeze(JSON.parse(data ?? "") as ApiObject); // Only StoreState.commit writes data.
    } catch (cause) {
      throw new ApiError("InternalError", `Internal error occurred: version ${rv} in the data file is damaged`, { cause });
    }
  }

  /** Takes in what is in the log at start-up: keys and versions only, objects are parsed at their first read. */
  load(row: Omit<StoredEntry, "table" | "object">): void {
    this.#add({ ...row, table: this, object: undefined });
  }

  apply({ rv, key, object, noteText }: TableChange): CommittedChange {
    const known = this.#entries.get(key);
    const previous = known === undefined ? undefined : this.#objectOf(known);
    const previousNote = known?.note;
    const entry = known ?? { table: this, key, rv, note: undefined, noteText: undefined, object };
    if (noteText !== entry.noteText) entry.note = noteText === undefined ? undefined : readNote(noteText);
    Object.assign(entry, { rv, noteText, object });
    if (object === undefined) this.#remove(key);
    else if (known === undefined) this.#add(entry);
    this.#newest = rv;
    this.tail.push({ rv, key, object, previous });
    return { table: this, key, object, previous, entry, previousNote };
  }

  #add(entry: StoredEntry): void {
    this.#entries.set(entry.key, entry);
    this.#sorted.insert(entry);
  }

  #remove(key: string): void {
    this.#entries.delete(key);
    this.#sorted.remove(key);
  }

  #objectOf(entry: StoredEntry): ApiObject {
    entry.object ??= this.parse(this.#log.data(entry.rv), entry.rv);
    return entry.object;
  }
}
