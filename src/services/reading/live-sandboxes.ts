/**
 * The live sandboxes of all tenants, newest first, kept in order while pods change: a list costs as much as it shows, and a count costs nothing (W31).
 * Watchers of single sandboxes are notified here too, so that a thousand watchers need one cache handler instead of a thousand.
 *
 * Stopping sandboxes are included until their pod forgets them, after the record is written (I3): at every moment a sandbox is known here or in the
 * history.
 */
import { keyOf } from "#kube/informer/indexed-store.ts";
import type { ObjectKey } from "#kube/object-client.ts";
import { SortedEntries } from "#lib/sorted-entries.ts";
import { poolOf, sandboxIdOf } from "#model/claimed-pod.ts";
import { isDeepPaused } from "#model/deep-pause.ts";
import { labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { LiveSandboxStatus } from "#model/sandbox-record.ts";
import type { ShownPods } from "#read-model/deep-paused-sandboxes.ts";
import { noAmounts, usableAmounts } from "#plugins/pod-amounts.ts";
import { claimTime, liveStatusOf } from "#sandbox/sandbox-base.ts";
import type { HistoryScope } from "#store/history-store.ts";
import { isSandboxId, type RecordKey } from "#store/record-key.ts";
import type { SandboxView } from "#services/sandbox-service.ts";
import { viewOf } from "./sandbox-view.ts";

interface Entry {
  readonly key: string;
  readonly pod: ObjectKey;
  readonly pool: string;
  readonly status: LiveSandboxStatus;
  readonly isDeepPaused: boolean;
  /** What it may use; nothing when it is stopping, or has no pod. */
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  /** The tenants whose lists contain it. */
  readonly scopes: readonly string[];
}

export interface LiveCounts {
  readonly total: number;
  readonly byStatus: ReadonlyMap<string, number>;
  readonly byPool: ReadonlyMap<string, number>;
  /** Those of them that have no pod. */
  readonly deepPaused: number;
  /** What those that are not stopping may use together. */
  readonly cpuMilli: number;
  readonly memoryBytes: number;
}

interface Tenant {
  readonly entries: SortedEntries<Entry>;
  readonly byStatus: Map<string, number>;
  readonly byPool: Map<string, number>;
  deepPaused: number;
  cpuMilli: number;
  memoryBytes: number;
}

export interface LivePart {
  readonly scope: HistoryScope;
  readonly after?: RecordKey | undefined;
  readonly pool?: string | undefined;
}

/** Told that something about its sandbox is different; what it is now has to be looked up. */
type Listener = () => void;

export class LiveSandboxes implements Disposable {
  readonly #pods: ShownPods;
  readonly #tenants = new Map<string, Tenant>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #remove: () => void;

  constructor(pods: ShownPods) {
    this.#pods = pods;
    const registration = pods.onChange((now, before) => this.#move(now, before));
    this.#remove = () => registration.remove();
  }

  [Symbol.dispose](): void {
    this.#remove();
  }

  /** A live view: read it before the next `await`. */
  newestFirst({ scope, after, pool }: LivePart): Generator<SandboxView> {
    const end = after === undefined ? undefined : placeOf(after);
    return this.#shown(this.#tenants.get(scopeKey(scope))?.entries.backwards(end), pool);
  }

  oldestFirst({ scope, after, pool }: LivePart): Generator<SandboxView> {
    const from = after === undefined ? "" : behind(after);
    return this.#shown(this.#tenants.get(scopeKey(scope))?.entries.range("", from), pool);
  }

  *#shown(entries: Iterable<Entry> = [], pool: string | undefined): Generator<SandboxView> {
    let shown: string | undefined;
    for (const entry of entries) {
      if (pool !== undefined && entry.pool !== pool) continue;
      const pod = this.#pods.get(entry.pod);
      const view = pod === undefined ? undefined : viewOf(pod);
      if (view === undefined) continue;
      const place = placeOf(view);
      // Two pods that claim to be one sandbox have one place in the list.
      if (place !== shown) yield view;
      shown = place;
    }
  }

  /** The pods of all that run and are not paused, of every tenant. A live view. */
  *running(): Generator<Pod> {
    for (const entry of this.#tenants.get(scopeKey({ kind: "admin" }))?.entries.backwards() ?? []) {
      const pod = entry.status === "Running" ? this.#pods.get(entry.pod) : undefined;
      if (pod !== undefined) yield pod;
    }
  }

  counts(scope: HistoryScope): LiveCounts {
    const tenant = this.#tenants.get(scopeKey(scope));
    if (tenant === undefined) return { total: 0, byStatus: new Map(), byPool: new Map(), deepPaused: 0, cpuMilli: 0, memoryBytes: 0 };
    const { entries, byStatus, byPool, deepPaused, cpuMilli, memoryBytes } = tenant;
    return { total: entries.size, byStatus, byPool, deepPaused, cpuMilli, memoryBytes };
  }

  /** Calls `listener` whenever a pod that carries the sandbox, or did so until now, has changed. Returns how to end it. */
  follow(sandboxId: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(sandboxId) ?? new Set();
    this.#listeners.set(sandboxId, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(sandboxId) === listeners) this.#listeners.delete(sandboxId);
    };
  }

  #move(now: Pod | undefined, before: Pod | undefined): void {
    const [next, last] = [now && entryOf(now), before && entryOf(before)];
    if (last !== undefined) this.#take(last);
    if (next !== undefined) this.#put(next);
    const ids = new Set([now && sandboxIdOf(now), before && sandboxIdOf(before)]);
    for (const id of ids) for (const listener of this.#listeners.get(id ?? "") ?? []) listener();
  }

  #put(entry: Entry): void {
    for (const scope of entry.scopes) {
      let tenant = this.#tenants.get(scope);
      if (tenant === undefined) {
        tenant = { entries: new SortedEntries(), byStatus: new Map(), byPool: new Map(), deepPaused: 0, cpuMilli: 0, memoryBytes: 0 };
        this.#tenants.set(scope, tenant);
      }
      tenant.entries.insert(entry);
      add(tenant.byStatus, entry.status, 1);
      add(tenant.byPool, entry.pool, 1);
      tenant.deepPaused += entry.isDeepPaused ? 1 : 0;
      tenant.cpuMilli += entry.cpuMilli;
      tenant.memoryBytes += entry.memoryBytes;
    }
  }

  #take(entry: Entry): void {
    for (const scope of entry.scopes) {
      const tenant = this.#tenants.get(scope);
      if (tenant === undefined) continue;
      tenant.entries.remove(entry.key);
      add(tenant.byStatus, entry.status, -1);
      add(tenant.byPool, entry.pool, -1);
      tenant.deepPaused -= entry.isDeepPaused ? 1 : 0;
      tenant.cpuMilli -= entry.cpuMilli;
      tenant.memoryBytes -= entry.memoryBytes;
      // A tenant that once had a sandbox is not remembered for ever.
      if (tenant.entries.size === 0) this.#tenants.delete(scope);
    }
  }
}

/** The same for the same pod, so that what was put can be taken out again. */
function entryOf(pod: Pod): Entry | undefined {
  const sandboxId = sandboxIdOf(pod);
  const status = liveStatusOf(pod);
  if (sandboxId === undefined || status === undefined || !isSandboxId(sandboxId)) return undefined;
  const { namespace = "", name = "", labels } = pod.metadata;
  const everybody = scopeKey({ kind: "admin" });
  const { cpuMilli, memoryBytes } = status === "Stopping" || isDeepPaused(pod) ? noAmounts : usableAmounts(pod.spec);
  return {
    key: `${placeOf({ claimedAt: claimTime(pod), sandboxId })}${namespace}/${name}`,
    pod: keyOf(pod),
    pool: poolOf(pod) ?? "",
    status,
    isDeepPaused: isDeepPaused(pod),
    cpuMilli,
    memoryBytes,
    scopes: [everybody, ...ownersOf(labels)],
  };
}

function ownersOf(labels: Pod["metadata"]["labels"] = {}): readonly string[] {
  const { [labelKeys.team]: team = "", [labelKeys.user]: user = "" } = labels;
  return team === "" ? [] : [scopeKey({ kind: "tenant", team }), scopeKey({ kind: "tenant", team, user })];
}

/** Its order is that of record-key.ts: the time has one length, and nothing in an id is below the line break. */
function placeOf({ claimedAt, sandboxId }: RecordKey): string {
  return `${claimedAt} ${sandboxId}\n`;
}

/** Above every pod that carries this sandbox, and below every other sandbox that comes later. */
function behind({ claimedAt, sandboxId }: RecordKey): string {
  return `${claimedAt} ${sandboxId}\v`;
}

function scopeKey(scope: HistoryScope): string {
  return JSON.stringify(scope.kind === "admin" ? [] : scope.user === undefined ? [scope.team] : [scope.team, scope.user]);
}

function add(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
