/**
 * The part of an engine that says which request has which idle pod. It is one of two parts of the engine port; the other is `abilities.ts`.
 *
 * An engine writes claims where one conditional write costs it least: `engines/embedded` on the pods, `engines/kubernetes` on Leases beside them
 * (ADR 54). Code above the port sees pods with their claims and does not know where these stand (ADR 76).
 *
 * What every claim book promises (test/contract/claim-book.test.ts):
 * - C1 `claim` is one conditional write. Of all claims of one use of a pod exactly one succeeds; the others lose a race (kube/lost-race.ts).
 * - C2 An idle pod is deleted in the version that was read, after `close` has returned true. Of that and a claim of this use exactly one succeeds,
 *   as long as the pod is there. After that an engine may accept a claim of it: `isClaimElsewhere` (model/shown-pod.ts) tells the caller to look.
 * - C3 A claim that is known shows on its pod, wherever that pod is read, until the pod is written with it or begins another use.
 */
import type { ObjectClient, ObjectKey } from "#kube/object-client.ts";
import type { Informer, InformerDeps, InformerPace } from "#kube/informer/informer.ts";
import type { ApiObject } from "#model/meta.ts";
import type { JsonPatch } from "#model/patch.ts";
import type { Pod } from "#model/pod.ts";

/** What a claim changes of its pod, or what closes the pod to claims. */
export interface ClaimNote {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Annotations that the pod loses. */
  readonly without: readonly string[];
}

export interface ClaimToWrite {
  readonly note: ClaimNote;
  /** The same, and the images that it wants, as a conditional patch of the pod. */
  readonly patch: JsonPatch;
}

export interface ClaimBook {
  /** The objects other than pods on which claims stand. They must be known before pods are, or a claimed pod would look free for a moment. */
  readonly followed: readonly Followed[];

  /** Writes a claim of an idle pod, and returns the pod with it. Throws what a lost race is told by. */
  claim(client: ClaimClient, pod: Pod, claim: ClaimToWrite): Promise<Pod>;

  /**
   * From now on this use of an idle pod cannot be claimed: the pod is to be deleted. False when a claim was first. An engine whose claims are writes of
   * the pod has nothing to do: the delete itself names the version that it is about.
   */
  close(client: ClaimClient, pod: Pod, note: ClaimNote, signal?: AbortSignal): Promise<boolean>;

  /** The pod with its claim, as this process knows it. `before` gives the pod as it was shown last. */
  show(pod: Pod, before: () => Pod | undefined): Pod;

  /** Calls the handler with each pod whose claim has changed, and perhaps the pod has not. */
  onChange(handler: (pod: ObjectKey) => void): void;

  /** The pod, which was read a moment ago, with its claim by the server's word. */
  read(client: Pick<ObjectClient, "get">, pod: Pod, signal?: AbortSignal): Promise<Pod>;

  /** The pods whose claims name the sandbox, by the server's word, other than by the pods' own labels. */
  find(client: Pick<ObjectClient, "list">, sandboxId: string): Promise<readonly ObjectKey[]>;
}

export type ClaimClient = Pick<ObjectClient, "get" | "create" | "update" | "patch">;
export type Followed = Pick<Informer<ApiObject>, "start" | "stop" | "whenSynced" | "health">;

export interface ClaimScope {
  /** The one namespace that the process looks after; all when left out. */
  readonly namespace: string | undefined;
  readonly pace: Partial<InformerPace>;
}

/** Each engine has one. The read model of a process opens its claim book, starts what it follows and stops it. */
export type OpenClaimBook = (deps: InformerDeps, scope: ClaimScope) => ClaimBook;
