/**
 * The embedded object store: the ObjectClient port with the semantics of a Kubernetes API server, on one SQLite file.
 *
 * What is kept
 * - data-file.ts opens the file for one process; revision-log.ts is the log of all writes in it, the only thing on disk.
 * - store-state.ts is what is true now; it holds an object-table.ts per kind (with kind-traits.ts), and
 *   its `commit` is the one way to write.
 * What is asked
 * - create.ts, update.ts (updates and patches, with merge-patch.ts and json-patch.ts) and scale.ts; read-body.ts takes
 *   requests in, server-metadata.ts keeps what clients may not decide, replace.ts is where every change of an object ends.
 * - bind-pod.ts gives a pod its node.
 * - delete.ts with deletion-marks.ts; namespace-lifecycle.ts says what namespaces add to creating and deleting.
 * - pages.ts lists, watch.ts and watch-cursor.ts watch (over event-tail.ts), selection.ts is what selectors mean to both.
 * - refusals.ts words every no, keys.ts orders objects, json-tree.ts shares parts between versions.
 * What happens by itself, in the background (background-loop.ts)
 * - garbage-collector.ts over owner-graph.ts and collector-note.ts, namespace-reaper.ts, expiry.ts, compactor.ts.
 *
 * Invariants
 * - S1 An acknowledged write survives the death of the process; a version is given once, for ever.
 * - S2 A watch that resumes sees every change after its version, in order, or is told that it is too late (Expired).
 * - S3 Everything between a look and the write that depends on it is one synchronous piece: no lost updates.
 * - S4 What is handed out is frozen and shared, and never changes.
 */
import type { DatabaseSync } from "node:sqlite";
import type { KindRules } from "#engines/embedded/admission/kind-rules.ts";
import { ApiError } from "#kube/api-error.ts";
import type * as port from "#kube/object-client.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { copyDatabase, type CopyWatch } from "#lib/sqlite-copy.ts";
import type { ApiObject } from "#model/meta.ts";
import { type ResourceType, resourceName } from "#model/resource.ts";
import { bindPod } from "./bind-pod.ts";
import { Compactor, defaultHistory, type History } from "./compactor.ts";
import { createObject } from "./create.ts";
import { closeDataFile, type Durability, openDataFile } from "./data-file.ts";
import { deleteObject } from "./delete.ts";
import { Expiry } from "./expiry.ts";
import { GarbageCollector } from "./garbage-collector.ts";
import { storeKey } from "./keys.ts";
import { NamespaceReaper } from "./namespace-reaper.ts";
import type { ObjectTable } from "./object-table.ts";
import { listPage } from "./pages.ts";
import { notFound } from "./refusals.ts";
import { RevisionLog } from "./revision-log.ts";
import { patchScale, readScale, updateScale } from "./scale.ts";
import { StoreState } from "./store-state.ts";
import { patchObject, updateObject } from "./update.ts";
import { WatchDesk } from "./watch.ts";

export interface ObjectStoreOptions {
  /** Path of the data file, made if it is not there, or `:memory:`. */
  readonly file: string;
  /** The kinds that are served. Namespaces must be among them. */
  readonly kinds: readonly KindRules[];
  readonly clock: Clock;
  readonly durability?: Durability;
  readonly history?: Partial<History>;
  /** How many changes of each kind are kept in memory for watchers; older ones are read from the file. */
  readonly tailEvents?: number;
  /** Gets errors of background work, which no caller would see. */
  readonly log?: Logger;
}

export interface ObjectStoreStats {
  /** How many objects of each resource there are. */
  readonly objects: Readonly<Record<string, number>>;
  readonly revisions: number;
  readonly newestRevision: number;
  /** Watches and lists can go on from here, not from before. */
  readonly compactedRevision: number;
  readonly watchers: number;
}

export interface ObjectStore extends port.ObjectClient, Disposable {
  /** Gives a pod its node; Conflict when it has one. For the node agent, which is our scheduler too. */
  bind(pod: port.ObjectKey, nodeName: string): Promise<void>;
  stats(): ObjectStoreStats;
  /** Writes all of it into a new file while it is in use: one consistent state, from the end of the copy. No other process can copy it. */
  copyTo(file: string, watch?: CopyWatch): Promise<void>;
  /** Ends all watches and lets go of the file. Calls after it are refused. */
  close(): void;
}

/** Opens the store. Throws if the file is in use, damaged or not ours, with a message that says so. */
export function openObjectStore(options: ObjectStoreOptions): ObjectStore {
  const { file, clock, durability = "process-crash" } = options;
  const db = openDataFile({ file, durability, clock });
  try {
    return new EmbeddedStore(options, db);
  } catch (error) {
    closeDataFile(db, file);
    throw error;
  }
}

class EmbeddedStore implements ObjectStore {
  readonly #file: string;
  readonly #db: DatabaseSync;
  readonly #state: StoreState;
  readonly #watches = new WatchDesk();
  readonly #background: readonly { stop(): void }[];
  #closed = false;

  constructor({ file, kinds, clock, log, history, tailEvents = 1024 }: ObjectStoreOptions, db: DatabaseSync) {
    this.#file = file;
    this.#db = db;
    const state = new StoreState({ log: new RevisionLog(db), kinds, clock, tailEvents });
    this.#state = state;
    const trouble = (work: string) => (error: unknown) => log?.error({ work, error }, "background work of the object store failed");
    this.#background = [
      new NamespaceReaper(state, trouble("namespace reaper")),
      new GarbageCollector(state, trouble("garbage collector")),
      new Expiry(state, trouble("expiry")),
      new Compactor(state, { ...defaultHistory, ...history }, trouble("compactor")),
    ];
  }

  async get<T extends ApiObject>(type: ResourceType<T>, key: port.ObjectKey, options: port.CallOptions = {}): Promise<T> {
    const found = this.#table(type, options).get(storeKey(type, key));
    if (found === undefined) throw notFound(type, key.name);
    return typed(type, found);
  }

  async list<T extends ApiObject>(type: ResourceType<T>, options: port.ListOptions = {}): Promise<port.ObjectList<T>> {
    const { items, ...page } = listPage(this.#state, this.#table(type, options), options);
    return { ...page, items: items.map((item) => typed(type, item)) };
  }

  watch<T extends ApiObject>(type: ResourceType<T>, options: port.WatchOptions = {}): AsyncIterable<port.WatchEvent<T>> {
    return this.#watches.watch<T>(this.#state, () => this.#table(type, options), options);
  }

  async create<T extends ApiObject>(type: ResourceType<T>, object: T, options: port.WriteOptions = {}): Promise<T> {
    return typed(type, createObject(this.#state, this.#table(type, options), object, options));
  }

  async update<T extends ApiObject>(type: ResourceType<T>, object: T, options: port.SubresourceOptions = {}): Promise<T> {
    return typed(type, updateObject(this.#state, this.#table(type, options), object, options));
  }

  async patch<T extends ApiObject>(
    type: ResourceType<T>,
    at: port.ObjectKey,
    patch: port.Patch,
    options: port.SubresourceOptions = {},
  ): Promise<T> {
    return typed(type, patchObject(this.#state, this.#table(type, options), { at, patch }, options));
  }

  async delete(type: ResourceType, key: port.ObjectKey, options: port.DeleteOptions = {}): Promise<void> {
    deleteObject(this.#state, this.#table(type, options), key, options);
  }

  async getScale(type: ResourceType, key: port.ObjectKey, options: port.CallOptions = {}): Promise<port.Scale> {
    return readScale(this.#table(type, options), key);
  }

  async updateScale(type: ResourceType, at: port.ObjectKey, scale: port.Scale, options: port.WriteOptions = {}): Promise<port.Scale> {
    return updateScale(this.#state, this.#table(type, options), { at, scale }, options);
  }

  async patchScale(type: ResourceType, at: port.ObjectKey, patch: port.Patch, options: port.WriteOptions = {}): Promise<port.Scale> {
    return patchScale(this.#state, this.#table(type, options), { at, patch }, options);
  }

  async bind(pod: port.ObjectKey, nodeName: string): Promise<void> {
    bindPod(this.#state, pod, nodeName);
  }

  stats(): ObjectStoreStats {
    const { log, newest } = this.#state;
    const sizes = Array.from(this.#state.tables(), (table) => [resourceName(table.type), table.size] as const);
    return {
      objects: Object.fromEntries(sizes),
      revisions: log.revisions,
      newestRevision: newest,
      compactedRevision: log.compacted,
      watchers: this.#watches.watchers,
    };
  }

  async copyTo(file: string, watch?: CopyWatch): Promise<void> {
    if (this.#closed) throw storeClosed();
    await copyDatabase(this.#db, file, watch);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const work of this.#background) work.stop();
    this.#watches.close();
    closeDataFile(this.#db, this.#file);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #table(type: ResourceType, { signal }: port.CallOptions): ObjectTable {
    signal?.throwIfAborted();
    if (this.#closed) throw storeClosed();
    return this.#state.table(type);
  }
}

function storeClosed(): ApiError {
  return new ApiError("ServiceUnavailable", "the object store is closed");
}

/** The kind's rules let only objects of its shape into the store. */
function typed<T extends ApiObject>(_type: ResourceType<T>, object: ApiObject): T {
  return object as T;
}
