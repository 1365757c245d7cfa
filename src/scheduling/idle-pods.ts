/**
 * The idle pods of all pools that can be handed out: those that may be claimed (W4), without those that are being claimed at this
 * moment. It is told of every change of a pod; a change costs the same for ten pods and for ten thousand.
 */
import type { Place } from "#lib/linked-list.ts";
import { poolOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { whyNotClaimable } from "#sandbox/claimable.ts";
import { digestIn } from "#sandbox/images/image-pin.ts";
import { NodeImages } from "./node-images.ts";
import { type FreePod, FreePods } from "./pick-idle.ts";
import { poolKey, type PoolRef } from "./pool-ref.ts";

export interface WantedPool {
  readonly pool: PoolRef;
  /** What the first container is to run, when it is known. */
  readonly digest?: string;
}

/** A pod that is offered to no other request until one of these is called. Only the first call counts. */
export interface Reservation {
  readonly pod: Pod;
  readonly pool: PoolRef;
  /** The pod is unchanged: another request may have it. */
  cancel(): void;
  /** The pod is not what it was thought to be. It is offered again when another version of it is seen that may be claimed. */
  outdated(): void;
}

interface Entry extends FreePod {
  readonly key: string;
  pod: Pod;
  digest: string | undefined;
  isMarked: boolean;
  /** `outdated`: this version of the pod is known to be an old one. */
  state: "free" | "reserved" | "outdated";
  place: Place | undefined;
}

interface PoolPods {
  readonly free: FreePods<Entry>;
  reserved: number;
}

export class IdlePods {
  readonly #entries = new Map<string, Entry>();
  readonly #pools = new Map<string, PoolPods>();
  readonly #images = new NodeImages();

  /** How many pods of the pool may be given out now. */
  free(pool: PoolRef): number {
    return this.#pools.get(poolKey(pool))?.free.size ?? 0;
  }

  /** How many of these wait on the image already. */
  freeOn(pool: PoolRef, digest: string): number {
    return this.#pools.get(poolKey(pool))?.free.on(digest) ?? 0;
  }

  reserved(pool: PoolRef): number {
    return this.#pools.get(poolKey(pool))?.reserved ?? 0;
  }

  /** How many pools there is anything to remember of. */
  get pools(): number {
    return this.#pools.size;
  }

  /** Every change of every pod, in order. Returns the pool that has a free pod by it which it did not have before. */
  observe(now: Pod | undefined, before: Pod | undefined): PoolRef | undefined {
    const uid = (now ?? before)?.metadata.uid;
    if (uid === undefined) return undefined;
    if (now !== undefined) this.#images.observe(now);
    const entry = this.#entries.get(uid);
    if (now === undefined || poolOf(now) === undefined || whyNotClaimable(now) !== undefined) {
      if (entry !== undefined) this.#forget(uid, entry);
      return undefined;
    }
    return entry === undefined ? this.#add(uid, now) : this.#update(entry, now);
  }

  /** The best free pod of the first pool that has one. */
  reserve(wanted: readonly WantedPool[]): Reservation | undefined {
    for (const { pool, digest } of wanted) {
      const pods = this.#pools.get(poolKey(pool));
      const entry = pods?.free.pick(digest, (image) => this.#images.nodesWith(image));
      if (pods === undefined || entry === undefined) continue;
      unshelve(entry);
      entry.state = "reserved";
      pods.reserved += 1;
      return this.#reservation(entry, pool);
    }
    return undefined;
  }

  #reservation(entry: Entry, pool: PoolRef): Reservation {
    const { pod } = entry;
    let isOpen = true;
    const end = (state: "free" | "outdated"): void => {
      // A pod that cannot be claimed any more was removed, with its reservation.
      if (!isOpen || this.#entries.get(pod.metadata.uid ?? "") !== entry) return;
      isOpen = false;
      this.#of(entry.key).reserved -= 1;
      // What was seen meanwhile is another version, of which nothing bad is known.
      entry.state = state === "outdated" && entry.pod.metadata.resourceVersion === pod.metadata.resourceVersion ? "outdated" : "free";
      if (entry.state === "free") this.#shelve(entry);
    };
    return { pod, pool, cancel: () => end("free"), outdated: () => end("outdated") };
  }

  #add(uid: string, pod: Pod): PoolRef {
    const pool = poolRefOf(pod);
    const entry: Entry = { key: poolKey(pool), pod, ...traitsOf(pod), state: "free", place: undefined };
    this.#entries.set(uid, entry);
    this.#shelve(entry);
    return pool;
  }

  #update(entry: Entry, pod: Pod): PoolRef | undefined {
    const was = entry.state;
    const traits = traitsOf(pod);
    const isMoved = traits.digest !== entry.digest || traits.isMarked !== entry.isMarked || pod.spec.nodeName !== entry.pod.spec.nodeName;
    if (was === "free" && isMoved) unshelve(entry);
    entry.pod = pod;
    Object.assign(entry, traits);
    if (was === "reserved") return undefined;
    entry.state = "free";
    if (entry.place === undefined) this.#shelve(entry);
    return was === "outdated" ? poolRefOf(pod) : undefined;
  }

  #forget(uid: string, entry: Entry): void {
    this.#entries.delete(uid);
    unshelve(entry);
    const pods = this.#pools.get(entry.key);
    if (pods === undefined) return;
    if (entry.state === "reserved") pods.reserved -= 1;
    this.#dropIfEmpty(entry.key, pods);
  }

  #shelve(entry: Entry): void {
    entry.place = this.#of(entry.key).free.add(entry);
  }

  #of(key: string): PoolPods {
    const there = this.#pools.get(key);
    if (there !== undefined) return there;
    const pods: PoolPods = { free: new FreePods(), reserved: 0 };
    this.#pools.set(key, pods);
    return pods;
  }

  /** A pool that is gone leaves nothing behind (W12). */
  #dropIfEmpty(key: string, { free, reserved }: PoolPods): void {
    if (free.size === 0 && reserved === 0) this.#pools.delete(key);
  }
}

function unshelve(entry: Entry): void {
  entry.place?.remove();
  entry.place = undefined;
}

function traitsOf(pod: Pod): { readonly digest: string | undefined; readonly isMarked: boolean } {
  return {
    digest: digestIn(pod.spec.containers[0]?.image),
    isMarked: pod.metadata.annotations?.[annotationKeys.chosenToGo] !== undefined,
  };
}

export function poolRefOf(pod: Pod): PoolRef {
  return { namespace: pod.metadata.namespace ?? "", name: poolOf(pod) ?? "" };
}
