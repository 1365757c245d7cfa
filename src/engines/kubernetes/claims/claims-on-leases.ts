/**
 * The claim book of a cluster: claims stand on Leases beside their pods (claim-lease.ts). All processes that want one use of a pod write the same Lease; the
 * API server accepts the first write, and the others lose the race. A process that wants to delete an idle pod takes part in it, or a pod could go that was
 * claimed a moment ago (I4).
 */
import type { ClaimBook, ClaimClient, ClaimNote, ClaimScope, ClaimToWrite } from "#engine-port/claim-book.ts";
import { ApiError, isApiError } from "#kube/api-error.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import { Informer, type InformerDeps } from "#kube/informer/informer.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient, ObjectKey } from "#kube/object-client.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { type Lease, Leases } from "#model/core-kinds.ts";
import { labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { storedPod } from "#model/shown-pod.ts";
import { holderIn, isClaimLease, isOfLaterUse, leaseAbout, noteAbout, podWithClaim } from "./claim-lease.ts";

export function claimsOnLeases(deps: InformerDeps, scope: ClaimScope): ClaimsOnLeases {
  return new ClaimsOnLeases(deps, scope);
}

/** The cache may show the Lease of an earlier use once. A write that is refused more often has met other processes that want the pod. */
const maxTries = 3;

export class ClaimsOnLeases implements ClaimBook {
  readonly followed: readonly [Informer<Lease>];
  readonly #leases: Informer<Lease>;
  readonly #namespace: string | undefined;
  /** The Leases whose claims pods are shown with. */
  readonly #shownWith = new WeakMap<Pod, Lease>();

  constructor(deps: InformerDeps, { namespace, pace }: ClaimScope) {
    // Leases of pods have the label of their pool. Leases by which processes elect a leader do not.
    this.#leases = new Informer(deps, { type: Leases, namespace, labelSelector: labelKeys.sandboxPool, pace });
    this.followed = [this.#leases];
    this.#namespace = namespace;
  }

  async claim(client: ClaimClient, pod: Pod, { note }: ClaimToWrite): Promise<Pod> {
    return this.#show(pod, await this.#write(client, pod, note));
  }

  async close(client: ClaimClient, pod: Pod, note: ClaimNote, signal?: AbortSignal): Promise<boolean> {
    return isFirst(async () => {
      try {
        await this.#write(client, pod, note, { signal });
      } catch (error) {
        if (!isInGoingNamespace(error)) throw error;
        // Nothing new is made there, so a pod without a Lease cannot be claimed any more. A Lease that exists can still be written.
        const held = await this.readLease(client, keyOf(pod), signal);
        if (held !== undefined) await this.#write(client, pod, note, { signal, held });
      }
    });
  }

  show(pod: Pod, before: () => Pod | undefined): Pod {
    return this.#show(pod, this.#leases.get(keyOf(pod)) ?? this.#leaseOf(before()));
  }

  /** A Lease goes with its pod or its namespace, and this process may hear of that first. Until the pod has gone it must not look free. */
  #leaseOf(before: Pod | undefined): Lease | undefined {
    return before && this.#shownWith.get(before);
  }

  onChange(handler: (pod: ObjectKey) => void): void {
    this.#leases.onChange((now) => now && handler(keyOf(now)));
  }

  async read(client: Pick<ObjectClient, "get">, pod: Pod, signal?: AbortSignal): Promise<Pod> {
    // About a pod that is not idle its Lease says nothing.
    return sandboxPhaseOf(pod) === "idle" ? this.#show(pod, await this.readLease(client, keyOf(pod), signal)) : pod;
  }

  async find(client: Pick<ObjectClient, "list">, sandboxId: string): Promise<readonly ObjectKey[]> {
    const labelSelector = `${labelKeys.sandboxId}=${sandboxId}`;
    const { items } = await client.list(Leases, { namespace: this.#namespace, labelSelector });
    for (const lease of items) this.#leases.remember(lease);
    return items.map(keyOf);
  }

  /** By the server's word, and known from then on; undefined when there is none. */
  async readLease(client: Pick<ObjectClient, "get">, key: ObjectKey, signal?: AbortSignal): Promise<Lease | undefined> {
    try {
      const lease = await client.get(Leases, key, { signal });
      this.#leases.remember(lease);
      return lease;
    } catch (error) {
      if (isApiError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  #show(pod: Pod, lease: Lease | undefined): Pod {
    const shown = podWithClaim(pod, lease);
    if (lease !== undefined && shown !== storedPod(pod)) this.#shownWith.set(shown, lease);
    return shown;
  }

  async #write(client: ClaimClient, shown: Pod, note: ClaimNote, options: LeaseWriteOptions = {}): Promise<Lease> {
    const { signal } = options;
    const [pod, key] = [storedPod(shown), keyOf(shown)];
    let held = options.held ?? this.#leases.get(key);
    for (let attempt = 1; ; attempt++) {
      if (held !== undefined && isSaid(pod, note, held)) return held;
      const wanted = leaseAbout(pod, note, held);
      try {
        const written = await (held === undefined ? client.create(Leases, wanted, { signal }) : client.update(Leases, wanted, { signal }));
        this.#leases.remember(written);
        return written;
      } catch (error) {
        if (!isApiError(error, "AlreadyExists", "Conflict", "NotFound")) throw error;
        if (attempt === maxTries) throw new ApiError("Conflict", `others want pod ${key.name} too`, { cause: error });
      }
      held = await this.readLease(client, key, signal);
    }
  }
}

interface LeaseWriteOptions {
  readonly signal?: AbortSignal | undefined;
  /** The Lease that the pod has, if it is known better than by the cache. */
  readonly held?: Lease;
}

/** A Lease of another program has the name of the pod. It is not ours to write, so no process can claim the pod. */
class ForeignLeaseError extends ApiError {
  constructor(name: string) {
    super("Conflict", `a Lease that is no claim has the name of pod ${name}`);
  }
}

/** True when the pod is closed; false when a claim was first. */
async function isFirst(close: () => Promise<void>): Promise<boolean> {
  try {
    await close();
    return true;
  } catch (error) {
    if (error instanceof ForeignLeaseError) return true;
    if (isLostRace(error)) return false;
    throw error;
  }
}

function isInGoingNamespace(error: unknown): boolean {
  return isApiError(error, "Forbidden") && error.causes.some(({ reason }) => reason === "NamespaceTerminating");
}

/** Whether the Lease says so already. Throws what a lost race is told by when it names another sandbox, or is about a later use. */
function isSaid(pod: Pod, note: ClaimNote, held: Lease): boolean {
  if (!isClaimLease(held)) throw new ForeignLeaseError(keyOf(pod).name);
  if (isOfLaterUse(pod, held)) throw new ApiError("Conflict", `pod ${keyOf(pod).name} has been used since`);
  const first = noteAbout(pod, held);
  if (first === undefined) return false;
  // A write that was sent twice finds itself.
  if (holderIn(first) === holderIn(note)) return true;
  throw new ApiError("Conflict", `pod ${keyOf(pod).name} has been claimed`);
}
