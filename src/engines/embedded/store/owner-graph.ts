import { type CollectorNote, foregroundFinalizer, type OwnerLink } from "./collector-note.ts";
import { namespaceOf } from "./keys.ts";
import type { Entry, ObjectTable } from "./object-table.ts";
import type { StoreState } from "./store-state.ts";

/** How an owner stands, as seen from a dependent. */
export type Standing =
  | "solid"
  /** Not there, or another object of the same name. */
  | "gone"
  /** Deleted in the foreground: it waits for its dependents to go first. */
  | "waiting"
  /** Of a kind that we do not serve, or one that cannot own the dependent: nothing can be concluded. */
  | "unknown";

const none: ReadonlySet<Entry> = new Set();

/** Owners and their dependents, kept in step with the store. */
export class OwnerGraph {
  readonly #tables = new Map<string, ObjectTable>();
  readonly #dependents = new Map<string, Set<Entry>>();

  constructor(state: StoreState) {
    for (const table of state.tables()) this.#tables.set(kindId(table.type.group, table.type.kind), table);
  }

  /** The entry's owners are other ones than in the note before, or the entry is gone. */
  update(entry: Entry, before: CollectorNote | undefined): void {
    if (entry.note === before) return;
    for (const { uid } of before?.owners ?? []) {
      const dependents = this.#dependents.get(uid);
      dependents?.delete(entry);
      if (dependents?.size === 0) this.#dependents.delete(uid);
    }
    for (const { uid } of entry.note?.owners ?? []) {
      const dependents = this.#dependents.get(uid) ?? new Set();
      this.#dependents.set(uid, dependents.add(entry));
    }
  }

  dependentsOf(uid: string | undefined): ReadonlySet<Entry> {
    return this.#dependents.get(uid ?? "") ?? none;
  }

  /** What stands where the link points to, whatever its uid is. An owner is in the dependent's namespace or in none. */
  ownerOf(dependent: Entry, link: OwnerLink): Entry | undefined {
    const table = this.#tableOf(dependent, link);
    return table?.entry(table.type.namespaced ? `${namespaceOf(dependent.key)}/${link.name}` : link.name);
  }

  standingOf(dependent: Entry, link: OwnerLink): Standing {
    const table = this.#tableOf(dependent, link);
    if (table === undefined) return "unknown";
    const entry = this.ownerOf(dependent, link);
    const owner = entry === undefined ? undefined : table.get(entry.key);
    if (owner === undefined || owner.metadata.uid !== link.uid) return "gone";
    const { deletionTimestamp, finalizers } = owner.metadata;
    return deletionTimestamp !== undefined && finalizers?.includes(foregroundFinalizer) === true ? "waiting" : "solid";
  }

  #tableOf(dependent: Entry, { apiVersion, kind }: OwnerLink): ObjectTable | undefined {
    const slash = apiVersion.indexOf("/");
    const table = this.#tables.get(kindId(slash < 0 ? "" : apiVersion.slice(0, slash), kind));
    // Nothing in a namespace can own what is in none.
    return table?.type.namespaced === true && namespaceOf(dependent.key) === undefined ? undefined : table;
  }
}

function kindId(group: string, kind: string): string {
  return `${kind}.${group}`;
}
