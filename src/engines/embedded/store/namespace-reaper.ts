import { type Namespace, Namespaces } from "#model/core-kinds.ts";
import { BackgroundLoop, type StepOutcome } from "./background-loop.ts";
import { createObject } from "./create.ts";
import { deleteObject } from "./delete.ts";
import { nameOf, namespaceOf } from "./keys.ts";
import { emptied, systemNamespaces, waitsForContents } from "./namespace-lifecycle.ts";
import type { CommittedChange, Entry, ObjectTable } from "./object-table.ts";
import type { StoreState } from "./store-state.ts";

/** How many objects one step deletes. */
const perStep = 50;

/**
 * Sees deleted namespaces to their end: deletes what is in them, waits for what takes its time, then lets the namespace go.
 * It also keeps the system's namespaces there.
 */
export class NamespaceReaper {
  readonly #state: StoreState;
  readonly #table: ObjectTable;
  readonly #loop: BackgroundLoop;
  /** Deleted namespaces, each with what is still to be deleted in it. Nothing new can come: creates are refused. */
  readonly #terminating = new Map<string, Entry[]>();
  /** Namespaces that are worth a look. */
  readonly #due = new Set<string>();

  constructor(state: StoreState, onError: (error: unknown) => void) {
    this.#state = state;
    this.#table = state.table(Namespaces);
    this.#loop = new BackgroundLoop({ step: () => this.#step(), clock: state.clock, onError });
    state.onCommit((change) => this.#observe(change));
    for (const name of systemNamespaces) this.#ensure(name);
    for (const { key } of this.#table.range("")) this.#consider(key);
  }

  stop(): void {
    this.#loop.stop();
  }

  #observe({ table, key, object }: CommittedChange): void {
    if (table === this.#table) {
      this.#consider(key);
      if (object === undefined && systemNamespaces.includes(key)) this.#look(key);
    } else if (object === undefined) {
      const namespace = namespaceOf(key);
      if (namespace !== undefined && this.#terminating.has(namespace)) this.#look(namespace);
    }
  }

  #consider(name: string): void {
    const namespace: Namespace | undefined = this.#table.get(name);
    if (namespace?.metadata.deletionTimestamp === undefined || !waitsForContents(namespace)) {
      this.#terminating.delete(name);
    } else if (!this.#terminating.has(name)) {
      this.#terminating.set(
        name,
        this.#namespacedTables().flatMap((table) => [...table.range(`${name}/`)]),
      );
      this.#look(name);
    }
  }

  #look(name: string): void {
    this.#due.add(name);
    this.#loop.wake();
  }

  #step(): StepOutcome {
    const [name] = this.#due;
    if (name === undefined) return "idle";
    const contents = this.#terminating.get(name);
    if (contents !== undefined && contents.length > 0) {
      for (let i = 0; i < perStep && contents.length > 0; i++) this.#deleteLast(contents);
      return "more";
    }
    this.#due.delete(name);
    if (contents === undefined) this.#ensure(name);
    else if (this.#namespacedTables().every((table) => table.count(`${name}/`) === 0)) this.#release(name);
    return "more";
  }

  #deleteLast(contents: Entry[]): void {
    const entry = contents.at(-1);
    const object = entry?.table.entry(entry.key) === entry ? entry?.table.get(entry.key) : undefined;
    if (entry !== undefined && object !== undefined && object.metadata.deletionTimestamp === undefined) {
      const at = { namespace: namespaceOf(entry.key), name: nameOf(entry.key) };
      deleteObject(this.#state, entry.table, at, { propagationPolicy: "Background" });
    }
    contents.pop();
  }

  #namespacedTables(): ObjectTable[] {
    return [...this.#state.tables()].filter((table) => table.type.namespaced);
  }

  /** Nothing holds the namespace any more but finalizers of its own, if it has any. */
  #release(name: string): void {
    const namespace: Namespace | undefined = this.#table.get(name);
    if (namespace === undefined) return;
    const left = emptied(namespace);
    const held = (left.spec?.finalizers?.length ?? 0) + (left.metadata.finalizers?.length ?? 0) > 0;
    this.#state.commit({ table: this.#table, key: name, object: held ? left : undefined });
  }

  #ensure(name: string): void {
    if (this.#table.get(name) !== undefined || !systemNamespaces.includes(name)) return;
    createObject(this.#state, this.#table, { metadata: { name } }, {});
  }
}
