/**
 * Who gets which idle pod. No I/O and no decisions about sandboxes: pods and requests in, pairs out.
 *
 * - `claim-queue.ts`   requests that wait, and the pairing
 * - `waiting-line.ts`  whose turn it is at one pool
 * - `idle-pods.ts`     pods that can be given out, and those that are being claimed
 * - `pick-idle.ts`     which of a pool's free pods
 * - `node-images.ts`   where an image is likely to be
 * - `pool-ref.ts`      which pool
 *
 * Q1 No pool has both a free pod and somebody waiting at it; so whoever comes and finds a free pod passes nobody.
 * Q2 At a pool tenants have turns, and inside a tenant the first comes first (I9).
 * Q3 A pod is held by one request at a time (I1; among several processes the conditional write decides).
 * Q4 Every request ends: with a pod, by its deadline, when its caller leaves, or when all its pools are gone (I9, W12).
 * Q5 All of it happens in the turn of its cause. Nothing polls, and nothing is forgotten.
 */
import type { Place } from "#lib/linked-list.ts";
import type { Pod } from "#model/pod.ts";
import { IdlePods, type Reservation, type WantedPool } from "./idle-pods.ts";
import { poolKey, type PoolRef } from "./pool-ref.ts";
import { WaitingLine } from "./waiting-line.ts";

export interface PodRequest {
  /** Whose turn it takes. */
  readonly tenant: string;
  /** Any of these will do; the best comes first. */
  readonly pools: readonly WantedPool[];
  /** Aborted when its caller has left. */
  readonly signal: AbortSignal;
  /** Aborted when its time is over. Not a time of day: clocks are set while somebody waits. */
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
  readonly maxWaitingOfTenant: number;
}

export const defaultQueueLimits: ClaimQueueOptions = { maxWaiting: 8192, maxWaitingOfTenant: 2048 };

interface Waiter {
  readonly request: PodRequest;
  /** Pool to its place there. */
  readonly places: Map<string, Place>;
  readonly end: (turn: Turn) => void;
}

export class ClaimQueue {
  readonly #limits: ClaimQueueOptions;
  readonly #idle = new IdlePods();
  readonly #lines = new Map<string, WaitingLine<Waiter>>();
  readonly #waiting = new Set<Waiter>();
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

  /** Nobody will get a pod of this pool any more. */
  removePool(pool: PoolRef): void {
    const key = poolKey(pool);
    for (const waiter of this.#lines.get(key)?.all().toArray() ?? []) {
      waiter.places.get(key)?.remove();
      waiter.places.delete(key);
      if (waiter.places.size === 0) waiter.end({ kind: "gone" });
    }
    this.#lines.delete(key);
  }

  /** Never rejects. Whoever gets a pod must end its reservation. */
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

  /** He stands first before his pod is given up: what comes free by that, be it the same pod as it is now, is his and nobody's before. */
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
    return (this.#ofTenant.get(tenant) ?? 0) >= this.#limits.maxWaitingOfTenant ? "tenant" : undefined;
  }

  #wait(request: PodRequest, resolve: (turn: Turn) => void): void {
    const { tenant, signal, late, pools, instead } = request;
    const onAbort = (): void => waiter.end({ kind: "canceled" });
    const onLate = (): void => waiter.end({ kind: "late" });
    const waiter: Waiter = {
      request,
      places: new Map(),
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

  #leave({ request: { tenant }, places }: Waiter): void {
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

  /** The pool has free pods: to each his turn until one of both is at an end. */
  #dispatch(pool: PoolRef): void {
    const line = this.#lines.get(poolKey(pool));
    if (line === undefined) return;
    for (let waiter = line.next; waiter !== undefined; waiter = line.next) {
      const reservation = this.#idle.reserve(waiter.request.pools);
      if (reservation === undefined) return;
      line.rotate(waiter.request.tenant);
      waiter.end({ kind: "pod", reservation: this.#watched(reservation) });
    }
  }

  /** A pod that comes back is the next one's (Q1). */
  #watched(reservation: Reservation): Reservation {
    const { pod, pool } = reservation;
    const giveBack = (): void => {
      reservation.giveBack();
      this.#dispatch(pool);
    };
    const outdated = (): void => {
      reservation.outdated();
      this.#dispatch(pool);
    };
    return { pod, pool, giveBack, outdated };
  }
}
