/**
 * Pairs requests with idle pods. No I/O and no decisions about sandboxes: pods and requests in, pairs out.
 *
 * - `claim-queue.ts`   requests that wait, and the pairing
 * - `waiting-line.ts`  which request is next at one pool; `waiting-sets.ts` how many requests each set of pools could serve
 * - `idle-pods.ts`     pods that can be given out, and those that are being claimed
 * - `pick-idle.ts`     which of a pool's free pods
 * - `node-images.ts`   where an image is likely to be
 * - `route-to-pools.ts` which member pools of an Env a request may have a pod of, and the order in which they are asked
 * - `pool-ref.ts`      which pool
 *
 * Q1 No pool has both a free pod and a waiting request. So a new request that finds a free pod overtakes no other request.
 * Q2 At a pool tenants take turns, and a tenant's requests are served in the order of their arrival (I9).
 * Q3 A pod is held by one request at a time (I1; among several processes the conditional write decides).
 * Q4 Every request ends: with a pod, by its deadline, when its caller leaves, or when all its pools are gone (I9, W12).
 * Q5 All of it happens in the same turn of the event loop as its cause. Nothing polls, and nothing is forgotten.
 */
import type { Place } from "#lib/linked-list.ts";
import type { WaitingSet } from "#model/claim-demand.ts";
import type { Pod } from "#model/pod.ts";
import { IdlePods, type Reservation, type WantedPool } from "./idle-pods.ts";
import { poolKey, type PoolRef } from "./pool-ref.ts";
import { WaitingLine } from "./waiting-line.ts";
import { WaitingSets } from "./waiting-sets.ts";

export interface PodRequest {
  /** The tenant whose turn the request uses. */
  readonly tenant: string;
  /** Any of these will do; the best comes first. */
  readonly pools: readonly WantedPool[];
  /** Aborted when its caller has left. */
  readonly signal: AbortSignal;
  /** Aborted at its deadline. It is not a time of day, because the machine's clock may be set while a request waits. */
  readonly late: AbortSignal;
  /** It had this pod and found it outdated: that is told here, and its turn is the next. */
  readonly instead?: Reservation;
}

export type Turn =
  | { readonly kind: "pod"; readonly reservation: Reservation }
  /** Too many wait already: in all, or of this tenant. */
  | { readonly kind: "full"; readonly of: "all" | "tenant" }
  | { readonly kind: "late" }
  | { readonly kind: "gone" }
  | { readonly kind: "canceled" }
  | { readonly kind: "stopped" };

export interface ClaimQueueOptions {
  readonly maxWaiting: number;
  /** So that one tenant alone cannot keep all others from waiting. */
  readonly maxWaitingOfTenant: number | ((tenant: string) => number);
}

export const defaultQueueLimits = { maxWaiting: 8192, maxWaitingOfTenant: 2048 } satisfies ClaimQueueOptions;

interface Waiter {
  readonly request: PodRequest;
  /** Pool to its place there. */
  readonly places: Map<string, Place>;
  /** Takes it out of the waiting sets. */
  uncount: () => void;
  readonly end: (turn: Turn) => void;
}

export class ClaimQueue {
  readonly #limits: ClaimQueueOptions;
  readonly #idle = new IdlePods();
  readonly #lines = new Map<string, WaitingLine<Waiter>>();
  readonly #waiting = new Set<Waiter>();
  readonly #sets = new WaitingSets();
  readonly #ofTenant = new Map<string, number>();
  readonly #onWaiting = new Set<(pool: PoolRef) => void>();
  #isStopped = false;

  constructor(limits: ClaimQueueOptions = defaultQueueLimits) {
    this.#limits = limits;
  }

  /** Requests that wait at this pool. One that would take a pod of several pools is counted at each (W11). */
  waiting(pool: PoolRef): number {
    return this.#lines.get(poolKey(pool))?.size ?? 0;
  }

  /** Requests that wait at this pool, each counted once, by the pools that could serve them. */
  setsAt(pool: PoolRef): readonly WaitingSet[] {
    return this.#sets.at(pool);
  }

  /** All requests that wait, each counted once. */
  sets(): readonly WaitingSet[] {
    return this.#sets.all();
  }

  /** Requests that wait at all. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Tells of every pool at which a request begins to wait. Returns what ends it. */
  onWaiting(handler: (pool: PoolRef) => void): () => void {
    this.#onWaiting.add(handler);
    return () => this.#onWaiting.delete(handler);
  }

  free(pool: PoolRef): number {
    return this.#idle.free(pool);
  }

  /** How many of these wait on the image already. */
  freeOn(pool: PoolRef, digest: string): number {
    return this.#idle.freeOn(pool, digest);
  }

  reserved(pool: PoolRef): number {
    return this.#idle.reserved(pool);
  }

  /** How many pools anything is remembered of. */
  get pools(): number {
    return Math.max(this.#idle.pools, this.#lines.size);
  }

  /** Every change of every pod, in order, present pods first. */
  observe(now: Pod | undefined, before: Pod | undefined): void {
    const pool = this.#idle.observe(now, before);
    if (pool !== undefined) this.#dispatch(pool);
  }

  /** From now on no request gets a pod of this pool. */
  removePool(pool: PoolRef): void {
    const key = poolKey(pool);
    for (const waiter of this.#lines.get(key)?.all().toArray() ?? []) {
      waiter.places.get(key)?.remove();
      waiter.places.delete(key);
      if (waiter.places.size === 0) waiter.end({ kind: "gone" });
      else this.#recount(waiter);
    }
    this.#lines.delete(key);
  }

  /** Never rejects. A caller that gets a pod must end its reservation. */
  take(request: PodRequest): Promise<Turn> {
    const { instead } = request;
    const refusal = this.#refusal(request);
    if (refusal !== undefined) {
      instead?.outdated();
      return Promise.resolve(refusal);
    }
    if (instead !== undefined) return this.#takeAnother(request, instead);
    const reservation = this.#idle.reserve(request.pools);
    if (reservation !== undefined) return Promise.resolve({ kind: "pod", reservation: this.#watched(reservation) });
    const full = this.#isFull(request.tenant);
    if (full !== undefined) return Promise.resolve({ kind: "full", of: full });
    return new Promise((resolve) => this.#wait(request, resolve));
  }

  /** Ends all that wait; what comes is refused. */
  stop(): void {
    this.#isStopped = true;
    for (const waiter of this.#waiting) waiter.end({ kind: "stopped" });
  }

  /** Queues the request at the front before its pod is given up, so that it gets the next free pod, which may be the same one renewed. */
  #takeAnother(request: PodRequest, instead: Reservation): Promise<Turn> {
    return new Promise((resolve) => {
      this.#wait(request, resolve);
      instead.outdated();
    });
  }

  #refusal({ signal, late }: PodRequest): Turn | undefined {
    if (this.#isStopped) return { kind: "stopped" };
    if (signal.aborted) return { kind: "canceled" };
    return late.aborted ? { kind: "late" } : undefined;
  }

  #isFull(tenant: string): "all" | "tenant" | undefined {
    if (this.#waiting.size >= this.#limits.maxWaiting) return "all";
    const { maxWaitingOfTenant: most } = this.#limits;
    return (this.#ofTenant.get(tenant) ?? 0) >= (typeof most === "number" ? most : most(tenant)) ? "tenant" : undefined;
  }

  #wait(request: PodRequest, resolve: (turn: Turn) => void): void {
    const { tenant, signal, late, pools, instead } = request;
    const onAbort = (): void => waiter.end({ kind: "canceled" });
    const onLate = (): void => waiter.end({ kind: "late" });
    const waiter: Waiter = {
      request,
      places: new Map(),
      uncount: this.#sets.add(pools.map(({ pool }) => pool)),
      end: (turn) => {
        if (!this.#waiting.delete(waiter)) return;
        signal.removeEventListener("abort", onAbort);
        late.removeEventListener("abort", onLate);
        this.#leave(waiter);
        resolve(turn);
      },
    };
    this.#waiting.add(waiter);
    this.#ofTenant.set(tenant, (this.#ofTenant.get(tenant) ?? 0) + 1);
    for (const { pool } of pools) {
      const key = poolKey(pool);
      if (!waiter.places.has(key)) waiter.places.set(key, this.#lineAt(key).add(tenant, waiter, { front: instead !== undefined }));
    }
    for (const handler of this.#onWaiting) for (const { pool } of pools) handler(pool);
    signal.addEventListener("abort", onAbort, { once: true });
    late.addEventListener("abort", onLate, { once: true });
  }

  /** At the pools that are left: a pod that is made for it must be one of these. */
  #recount(waiter: Waiter): void {
    waiter.uncount();
    waiter.uncount = this.#sets.add(poolsLeft(waiter).map(({ pool }) => pool));
  }

  #leave({ request: { tenant }, places, uncount }: Waiter): void {
    uncount();
    const left = (this.#ofTenant.get(tenant) ?? 1) - 1;
    if (left === 0) this.#ofTenant.delete(tenant);
    else this.#ofTenant.set(tenant, left);
    for (const [key, place] of places) {
      place.remove();
      if (this.#lines.get(key)?.size === 0) this.#lines.delete(key);
    }
  }

  #lineAt(key: string): WaitingLine<Waiter> {
    const there = this.#lines.get(key);
    if (there !== undefined) return there;
    const line = new WaitingLine<Waiter>();
    this.#lines.set(key, line);
    return line;
  }

  /** The pool has free pods: serves waiting requests in turn until there is no free pod or no request left. */
  #dispatch(pool: PoolRef): void {
    const line = this.#lines.get(poolKey(pool));
    if (line === undefined) return;
    for (let waiter = line.next; waiter !== undefined; waiter = line.next) {
      const reservation = this.#idle.reserve(poolsLeft(waiter));
      if (reservation === undefined) return;
      line.rotate(waiter.request.tenant);
      waiter.end({ kind: "pod", reservation: this.#watched(reservation) });
    }
  }

  /** A pod that comes back is the next one's (Q1). */
  #watched(reservation: Reservation): Reservation {
    const { pod, pool } = reservation;
    const cancel = (): void => {
      reservation.cancel();
      this.#dispatch(pool);
    };
    const outdated = (): void => {
      reservation.outdated();
      this.#dispatch(pool);
    };
    return { pod, pool, cancel, outdated };
  }
}

/** Those that were not removed while it waited: a removed pool may still have idle pods. */
function poolsLeft({ request: { pools }, places }: Waiter): readonly WantedPool[] {
  return places.size === pools.length ? pools : pools.filter(({ pool }) => places.has(poolKey(pool)));
}
