/** The claim books of both engines. The store takes claims either way, so what is true of claims on Leases is seen without a cluster, too. */
import type { ClaimBook, OpenClaimBook } from "#engine-port/claim-book.ts";
import { claimsOnPods } from "#engines/embedded/claims-on-pods.ts";
import { ClaimsOnLeases, claimsOnLeases } from "#engines/kubernetes/claims/claims-on-leases.ts";

export function claimBook(isOnLeases = false): OpenClaimBook {
  return isOnLeases ? claimsOnLeases : claimsOnPods;
}

export function asClaimsOnLeases(book: ClaimBook): ClaimsOnLeases {
  if (book instanceof ClaimsOnLeases) return book;
  throw new Error("claims do not stand on Leases here");
}
