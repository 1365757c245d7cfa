/** What is written into a Lease. Its times are for people and other clients; we never compare them with a clock. */
import { kubernetesMicroTime } from "#lib/clock.ts";
import type { Lease } from "#model/core-kinds.ts";

export interface Claim {
  readonly identity: string;
  readonly leaseDurationMs: number;
  readonly now: number;
}

/** The lease in our name: made, taken over, or held on to. */
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
