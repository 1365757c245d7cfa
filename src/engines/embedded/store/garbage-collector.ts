import type { ApiObject } from "#model/meta.ts";
import { BackgroundLoop, type StepOutcome } from "./background-loop.ts";
import { foregroundFinalizer, orphanFinalizer, type OwnerLink } from "./collector-note.ts";
import { deleteObject } from "./delete.ts";
import { withFinalizers } from "./deletion-marks.ts";
import { nameOf, namespaceOf } from "./keys.ts";
import type { CommittedChange, Entry } from "./object-table.ts";
import { OwnerGraph } from "./owner-graph.ts";
import { replaceObject } from "./replace.ts";
import type { StoreState } from "./store-state.ts";

/** How much one step does: looks cost 1, writes cost more. */
const stepBudget = 1000;
const writeCost = 20;

/**
 * Deletes objects whose owners are gone, holds back objects deleted in the foreground until their dependents are gone, and removes
 * owner references to objects that were deleted with orphaned dependents. It works off a set of objects that may need something and
 * looks at each as it is then; events only fill the set, so their order does not matter.
 */
export class GarbageCollector {
  readonly #state: StoreState;
  readonly #graph: OwnerGraph;
  readonly #suspects = new Set<Entry>();
  readonly #loop: BackgroundLoop;
  #spent = 0;

  constructor(state: StoreState, onError: (error: unknown) => void) {
    this.#state = state;
    this.#graph = new OwnerGraph(state);
    this.#loop = new BackgroundLoop({ step: () => this.#step(), clock: state.clock, onError });
    state.onCommit((change) => this.#observe(change));
    // Owners may have gone, and deletes may have begun, just before the last end.
    for (const table of state.tables()) {
      for (const entry of table.traits.collected ? table.range("") : []) {
        this.#graph.update(entry, undefined);
        if (entry.note !== undefined) this.#suspect(entry);
      }
    }
  }

  stop(): void {
    this.#loop.stop();
  }

  #suspect(entry: Entry): void {
    this.#suspects.add(entry);
    this.#loop.wake();
  }

  #observe({ table, entry, object, previous, previousNote }: CommittedChange): void {
    if (!table.traits.collected) return;
    this.#graph.update(entry, previousNote);
    if (object === undefined) {
      for (const dependent of this.#graph.dependentsOf(previous?.metadata.uid)) this.#suspect(dependent);
    }
    if (entry.note === previousNote) return;
    if (entry.note !== undefined) this.#suspect(entry);
    for (const link of previousNote?.owners ?? []) this.#suspectIfWaiting(this.#graph.ownerOf(entry, link));
  }

  /** An owner that waits for its dependents may wait for one less now. */
  #suspectIfWaiting(owner: Entry | undefined): void {
    if (owner?.note?.waits === true) this.#suspect(owner);
  }

  #step(): StepOutcome {
    this.#spent = 0;
    for (const entry of this.#suspects) {
      if (this.#spent++ >= stepBudget) return "more";
      this.#suspects.delete(entry);
      try {
        this.#look(entry);
      } catch (error) {
        // To the end of the line, so that it does not hold up the others.
        this.#suspects.add(entry);
        throw error;
      }
    }
    return "idle";
  }

  #look(entry: Entry): void {
    if (entry.note === undefined || entry.table.entry(entry.key) !== entry) return;
    if (entry.note.waits) this.#finishDelete(entry, this.#object(entry));
    else this.#judge(entry, entry.note.owners);
  }

  #finishDelete(entry: Entry, object: ApiObject): void {
    const { uid, finalizers = [] } = object.metadata;
    const dependents = [...this.#graph.dependentsOf(uid)];
    if (finalizers.includes(orphanFinalizer)) {
      for (const dependent of dependents) this.#cutTies(dependent, (link) => link.uid === uid);
      this.#write(
        entry,
        withFinalizers(
          object,
          finalizers.filter((finalizer) => finalizer !== orphanFinalizer),
        ),
      );
      return;
    }
    for (const dependent of dependents) if (dependent.note?.waits !== true) this.#suspect(dependent);
    const blocked = dependents.some(({ note }) => note?.owners.some((link) => link.uid === uid && link.blocks));
    if (!blocked)
      this.#write(
        entry,
        withFinalizers(
          object,
          finalizers.filter((finalizer) => finalizer !== foregroundFinalizer),
        ),
      );
  }

  /** An object lives as long as one of its owners does. */
  #judge(entry: Entry, links: readonly OwnerLink[]): void {
    const owners = links.map((link) => ({ link, standing: this.#graph.standingOf(entry, link) }));
    const lost = owners.filter(({ standing }) => standing === "gone" || standing === "waiting");
    if (lost.length === 0 || owners.some(({ standing }) => standing === "unknown")) return;
    const object = this.#object(entry);
    if (object.metadata.deletionTimestamp !== undefined) return;
    if (lost.length < owners.length) {
      this.#cutTies(entry, (link) => lost.some((one) => one.link.uid === link.uid));
      return;
    }
    const dependents = [...this.#graph.dependentsOf(object.metadata.uid)];
    const inForeground = dependents.length > 0 && lost.some(({ standing }) => standing === "waiting");
    // Objects that own each other, all deleted in the foreground, would wait for each other for ever.
    if (inForeground && dependents.some(({ note }) => note?.waits === true)) this.#unblock(entry, object);
    this.#delete(entry, inForeground);
  }

  #delete(entry: Entry, inForeground: boolean): void {
    this.#spent += writeCost;
    const at = { namespace: namespaceOf(entry.key), name: nameOf(entry.key) };
    // Without a policy, one that the object's own finalizers ask for is kept.
    deleteObject(this.#state, entry.table, at, inForeground ? { propagationPolicy: "Foreground" } : {});
  }

  #unblock(entry: Entry, object: ApiObject): void {
    const ownerReferences = object.metadata.ownerReferences?.map((reference) => ({ ...reference, blockOwnerDeletion: false }));
    if (ownerReferences !== undefined) this.#write(entry, { ...object, metadata: { ...object.metadata, ownerReferences } });
  }

  #cutTies(entry: Entry, cut: (link: OwnerLink) => boolean): void {
    const object = this.#object(entry);
    const gone = new Set(entry.note?.owners.filter(cut).map((link) => link.uid));
    const { ownerReferences, ...metadata } = object.metadata;
    const kept = ownerReferences?.filter((reference) => !gone.has(reference.uid)) ?? [];
    this.#write(entry, { ...object, metadata: kept.length === 0 ? metadata : { ...metadata, ownerReferences: kept } });
  }

  #write(entry: Entry, wanted: ApiObject): void {
    this.#spent += writeCost;
    const current = this.#object(entry);
    replaceObject(this.#state, entry.table, { key: entry.key, current, wanted, subresource: "main", dryRun: false });
  }

  #object(entry: Entry): ApiObject {
    const object = entry.table.get(entry.key);
    if (object === undefined) throw new Error(`${entry.key} went while the garbage collector looked at it`);
    return object;
  }
}
