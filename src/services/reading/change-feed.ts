/**
 * What changes in an installation, for those that show it live: sandboxes, pools and Envs, each caller's own.
 *
 * The feed is a ring of the latest changes, and a reader is a place in it and not a queue: a slow reader costs nothing, and one that has
 * fallen out of the ring, or comes from another process, is told to list everything again. All readers get the same objects, so what an
 * API makes of a change it makes once for all of them. A change is looked at when it is first read: without readers it costs one entry.
 */
import { randomBytes } from "node:crypto";
import type { Informer } from "#kube/informer/informer.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import { isClaimed, sandboxIdOf } from "#model/claimed-pod.ts";
import type { ApiObject } from "#model/meta.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { type Caller, mayUse, owns } from "#services/caller.ts";
import { visiblePool } from "#services/pools/find-pool.ts";
import type { SandboxView } from "#services/sandbox-service.ts";
import { viewOf } from "./sandbox-view.ts";

export type Change =
  | { readonly kind: "sandbox"; readonly sandbox: SandboxView }
  /** It is not live any more: its record is in the history. */
  | { readonly kind: "sandbox-ended"; readonly sandboxId: string }
  | { readonly kind: "pool"; readonly pool: SandboxPool }
  | { readonly kind: "pool-deleted"; readonly namespace: string; readonly name: string }
  | { readonly kind: "env"; readonly env: SandboxEnv }
  | { readonly kind: "env-deleted"; readonly namespace: string; readonly name: string };

export type FeedItem =
  | { readonly kind: "change"; readonly id: string; readonly change: Change }
  /** What the reader knows is not enough to go on from: it lists everything, and goes on from here. */
  | { readonly kind: "start"; readonly id: string };

export interface ChangeFeedDeps {
  readonly cache: Pick<SandboxCache, "pods" | "pools" | "envs" | "listPools">;
  readonly clock: Clock;
  readonly size?: number;
}

interface Entry {
  readonly seq: number;
  /** Of what the entry is: of several entries about one thing a reader gets the last. */
  readonly key: string;
  readonly isVisibleTo: (caller: Caller) => boolean;
  /** Undefined when nothing that is shown has changed. Looked at once. */
  readonly change: () => Change | undefined;
}

const usualSize = 4096;
/** Changes come in bursts; what comes within this time is one answer. */
const gatherMs = 100;

export class ChangeFeed implements Disposable {
  readonly #deps: ChangeFeedDeps;
  readonly #size: number;
  /** Other processes, and this one after a restart, count from one again. */
  readonly #epoch = randomBytes(6).toString("base64url");
  readonly #ring: Entry[] = [];
  readonly #stop: readonly (() => void)[];
  readonly #sleepers = new Set<() => void>();
  #newest = 0;

  constructor(deps: ChangeFeedDeps) {
    const { cache } = deps;
    this.#deps = deps;
    this.#size = deps.size ?? usualSize;
    this.#stop = [
      follow(cache.pods, (now, before) => this.#notePod(now, before)),
      follow(cache.pools, (now, before) =>
        this.#noteObject("pool", now ?? before, {
          isVisibleTo: (caller, pool) => visiblePool(cache, caller, pool),
          change: now && { kind: "pool", pool: now },
        }),
      ),
      follow(cache.envs, (now, before) =>
        this.#noteObject("env", now ?? before, { isVisibleTo: mayUse, change: now && { kind: "env", env: now } }),
      ),
    ];
  }

  [Symbol.dispose](): void {
    for (const stop of this.#stop) stop();
    this.#wake();
  }

  /** Goes on after `seen`, the id of the last item that the caller knows, until the signal is aborted. */
  async *read(caller: Caller, seen: string | undefined, signal: AbortSignal): AsyncGenerator<readonly FeedItem[], void> {
    let place = this.#placeAfter(seen);
    if (place === undefined) {
      place = this.#newest;
      yield [{ kind: "start", id: this.#idOf(place) }];
    }
    while (!signal.aborted) {
      if (place < this.#oldest - 1) {
        place = this.#newest;
        yield [{ kind: "start", id: this.#idOf(place) }];
        continue;
      }
      const items = this.#itemsAfter(place, caller);
      place = this.#newest;
      if (items.length > 0) yield items;
      await this.#moved(place, signal);
    }
  }

  get #oldest(): number {
    return this.#ring[0]?.seq ?? this.#newest + 1;
  }

  #itemsAfter(place: number, caller: Caller): readonly FeedItem[] {
    const latest = new Map<string, FeedItem>();
    const first = Math.max(0, place + 1 - this.#oldest);
    for (let at = first; at < this.#ring.length; at++) {
      const entry = this.#ring[at] as Entry;
      if (!entry.isVisibleTo(caller)) continue;
      const change = entry.change();
      if (change === undefined) continue;
      latest.delete(entry.key);
      latest.set(entry.key, { kind: "change", id: this.#idOf(entry.seq), change });
    }
    return [...latest.values()];
  }

  /** Resolves when there is something behind the place, and a moment more has passed for what comes with it. */
  async #moved(place: number, signal: AbortSignal): Promise<void> {
    if (this.#newest === place && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#sleepers.add(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
      await promise;
      this.#sleepers.delete(resolve);
    }
    await sleep(this.#deps.clock, gatherMs, signal).catch(() => {});
  }

  #notePod(now: Pod | undefined, before: Pod | undefined): void {
    for (const pod of [before, now]) {
      const sandboxId = pod && sandboxIdOf(pod);
      if (sandboxId === undefined || (pod === before && now !== undefined && sandboxIdOf(now) === sandboxId)) continue;
      const then = before !== undefined && sandboxIdOf(before) === sandboxId ? before : undefined;
      const current = pod === now ? now : undefined;
      this.#add(
        `sandbox ${sandboxId}`,
        (caller) => owns(caller, pod as Pod),
        once(() => sandboxChange(sandboxId, current, then)),
      );
    }
  }

  #noteObject<T extends ApiObject>(kind: "pool" | "env", object: T | undefined, { isVisibleTo, change }: NotedObject<T>): void {
    if (object === undefined) return;
    const { namespace = "", name = "" } = object.metadata;
    const noted: Change = change ?? { kind: `${kind}-deleted`, namespace, name };
    this.#add(
      `${kind} ${namespace}/${name}`,
      (caller) => isVisibleTo(caller, object),
      () => noted,
    );
  }

  #add(key: string, isVisibleTo: Entry["isVisibleTo"], change: Entry["change"]): void {
    this.#newest += 1;
    this.#ring.push({ seq: this.#newest, key, isVisibleTo, change });
    // In pieces: taking one away at a time would move all others each time.
    if (this.#ring.length >= 2 * this.#size) this.#ring.splice(0, this.#size);
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#sleepers) resolve();
    this.#sleepers.clear();
  }

  #idOf(seq: number): string {
    return `${this.#epoch}.${seq}`;
  }

  #placeAfter(seen: string | undefined): number | undefined {
    const [epoch, text] = (seen ?? "").split(".");
    const seq = Number(text);
    return epoch === this.#epoch && Number.isSafeInteger(seq) && seq >= 0 && seq <= this.#newest ? seq : undefined;
  }
}

interface NotedObject<T> {
  readonly isVisibleTo: (caller: Caller, object: T) => boolean;
  /** Undefined: it has gone. */
  readonly change: Change | undefined;
}

function follow<T extends ApiObject>(informer: Informer<T>, note: (now: T | undefined, before: T | undefined) => void): () => void {
  const registration = informer.onChange(note);
  return () => registration.remove();
}

function sandboxChange(sandboxId: string, now: Pod | undefined, before: Pod | undefined): Change | undefined {
  const sandbox = now !== undefined && isClaimed(now) ? viewOf(now) : undefined;
  if (sandbox === undefined) return { kind: "sandbox-ended", sandboxId };
  const last = before && viewOf(before);
  return last !== undefined && JSON.stringify(last) === JSON.stringify(sandbox) ? undefined : { kind: "sandbox", sandbox };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  let open: (() => T) | undefined = make;
  return () => {
    made ??= { value: (open as () => T)() };
    // What it was made from is not kept any longer.
    open = undefined;
    return made.value;
  };
}
