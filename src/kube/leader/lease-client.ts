/** How the leader's Lease is read and written, and what is written into it. */
import { ifFound, isApiError } from "#kube/api-error.ts";
import type { ObjectClient, ObjectKey } from "#kube/object-client.ts";
import { abortable, ChildAbort } from "#lib/abortable.ts";
import { kubernetesMicroTime, type MonotonicClock } from "#lib/clock.ts";
import { type Lease, Leases } from "#model/core-kinds.ts";
import { type Moment, momentOf } from "./tenure.ts";

/** A lease in our name: as the server has it, and when we began to write that. */
export interface Held {
  readonly lease: Lease;
  readonly started: Moment;
}

export type WriteOutcome = { readonly kind: "written"; readonly held: Held } | { readonly kind: "lost-race" } | { readonly kind: "gone" };

/** Reads and writes one Lease. Calls that hang are given up; what a rejected write did to the server is unknown. */
export class LeaseClient {
  readonly #client: ObjectClient;
  readonly #clock: MonotonicClock;
  readonly #key: ObjectKey;
  readonly #timeoutMs: number;

  constructor(deps: { readonly client: ObjectClient; readonly clock: MonotonicClock }, key: ObjectKey, timeoutMs: number) {
    this.#client = deps.client;
    this.#clock = deps.clock;
    this.#key = key;
    this.#timeoutMs = timeoutMs;
  }

  async read(signal?: AbortSignal): Promise<Lease | undefined> {
    return ifFound(this.#call((callSignal) => this.#client.get(Leases, this.#key, { signal: callSignal }), signal));
  }

  /** Creates the lease, or replaces exactly the version that `lease` was made from. */
  async write(lease: Lease): Promise<WriteOutcome> {
    const isNew = lease.metadata.resourceVersion === undefined;
    const started = momentOf(this.#clock);
    try {
      const written = await this.#call((signal) =>
        isNew ? this.#client.create(Leases, lease, { signal }) : this.#client.update(Leases, lease, { signal }),
      );
      return { kind: "written", held: { lease: written, started } };
    } catch (error) {
      if (isApiError(error, "Conflict", "AlreadyExists")) return { kind: "lost-race" };
      if (isApiError(error, "NotFound") && !isNew) return { kind: "gone" };
      throw error;
    }
  }

  async #call<T>(call: (signal: AbortSignal) => Promise<T>, parent?: AbortSignal): Promise<T> {
    using abort = new ChildAbort(parent);
    const timer = this.#clock.after(this.#timeoutMs, () => abort.abort(new Error(`no answer within ${this.#timeoutMs} ms`)));
    try {
      return await abortable(call(abort.signal), abort.signal);
    } finally {
      timer.cancel();
    }
  }
}

interface Claim {
  readonly identity: string;
  readonly leaseDurationMs: number;
  readonly now: number;
}

/** The lease in our name: made, taken over, or held on to. Its times are for people and other clients; we never compare them with a clock. */
export function claimed(lease: Lease, claim: Claim): Lease {
  const { spec } = lease;
  const time = kubernetesMicroTime(claim.now);
  const heldBefore = spec?.holderIdentity === claim.identity;
  const transitions = spec === undefined ? 0 : (spec.leaseTransitions ?? 0) + (heldBefore ? 0 : 1);
  return {
    ...lease,
    spec: {
      ...spec,
      holderIdentity: claim.identity,
      leaseDurationSeconds: Math.ceil(claim.leaseDurationMs / 1000),
      acquireTime: heldBefore ? (spec.acquireTime ?? time) : time,
      renewTime: time,
      leaseTransitions: transitions,
    },
  };
}

/** The lease without a holder: the next process need not wait for it to run out. */
export function released(lease: Lease, now: number): Lease {
  // The API wants a duration of at least one second, even for a lease without a holder.
  return { ...lease, spec: { ...lease.spec, holderIdentity: "", leaseDurationSeconds: 1, renewTime: kubernetesMicroTime(now) } };
}
