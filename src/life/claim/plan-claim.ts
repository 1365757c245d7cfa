/**
 * The plan of a claim: one conditional write that gives an idle pod to a sandbox. On the fast path the pod runs the wanted images already, so the sandbox
 * is running with this write. On the slow path the write names the images, and the pod is starting.
 */
import { type EgressPolicy, egressPolicyText } from "#model/egress-policy.ts";
import { annotationKeys, isReservedKey, labelKeys, type TimeoutAction } from "#model/keys.ts";
import type { JsonPatch } from "#model/patch.ts";
import type { Pod } from "#model/pod.ts";
import { type VolumeMount, volumeMountsText } from "#model/volume-mounts.ts";
import { formatSeconds, formatTime } from "#sandbox/annotation-values.ts";
import { type NotClaimable, useCountOf, whyNotClaimable } from "#sandbox/claimable.ts";
import { formatHooksMark, type HooksMark } from "#sandbox/hooks-mark.ts";
import { hasPlainImages } from "#sandbox/images/image-form.ts";
import { differingTargets, pinTargets, type TargetImages } from "#sandbox/images/images.ts";
import { type InplaceUpdateState, serializeInplaceUpdateState } from "#sandbox/images/inplace-state.ts";
import { triggerUpdate, type UpdateRefusal } from "#sandbox/images/inplace-update.ts";
import { type PodChange, podPatch } from "#sandbox/pod-patch.ts";
import { stableContainerStatuses } from "#sandbox/health/restart.ts";

export interface Claim {
  readonly sandboxId: string;
  readonly team?: string;
  readonly user?: string;
  /** What the containers shall run. Containers that are left out go on as they are. */
  readonly images: TargetImages;
  readonly startupTimeoutMs?: number;
  /** Nothing or 0: no limit. */
  readonly idleTimeoutMs?: number;
  readonly endTimeMs?: number;
  /** What the end time was made of. */
  readonly lifetimeMs?: number;
  readonly onTimeout?: TimeoutAction;
  /** Traffic wakes it when it is paused. */
  readonly autoResume?: boolean;
  readonly egress?: EgressPolicy;
  /** Checked before, by `VolumeMounts`. */
  readonly volumeMounts?: readonly VolumeMount[];
  /** Its ports want the traffic token. */
  readonly privateTraffic?: boolean;
  /** Its daemon wants no access token. */
  readonly openDaemon?: boolean;
  /** What its programs see as the host of a request. */
  readonly maskHost?: string;
  /** Post-start hooks that are to be run before it is ready; left out: none. They may hold secrets, so only their sealed form is written. */
  readonly hooks?: Pick<HooksMark, "pending" | "sealed">;
  /** Annotations of AgentBox's own that a resumed sandbox brings with it. They go before what the claim says. */
  readonly restored?: Readonly<Record<string, string>>;
  /** Sealed: what the sandbox starts with. */
  readonly startOrder?: string;
  /** Checked before, by `checkUserMetadata`. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly metadata?: Readonly<Record<string, string>>;
}

export type ClaimRefusal = NotClaimable | UpdateRefusal | "reserved-key" | "key-taken";

export type ClaimPlan =
  | {
      readonly kind: "patch";
      readonly change: PodChange;
      /** The change as a write of the pod itself. */
      readonly patch: JsonPatch;
      readonly path: "fast" | "slow";
      /** The node, or a program that follows pods, must see the claim: it must be on the pod itself before the create is answered. */
      readonly isForPod: boolean;
    }
  /** NotClaimable codes: another pod may do. The others: no pod of this pool will. */
  | { readonly kind: "refused"; readonly code: ClaimRefusal; readonly message: string };

export function planClaim(pod: Pod, claim: Claim, now: number): ClaimPlan {
  const unfit = whyNotClaimable(pod);
  if (unfit !== undefined) return refused(unfit, `pod ${pod.metadata.name ?? ""} cannot be claimed: it is ${unfit.replace("-", " ")}`);
  const wrong = wrongKey(pod, claim) ?? wrongTarget(pod, claim.images);
  if (wrong !== undefined) return wrong;
  const differing = differingTargets(pod, claim.images);
  return Object.keys(differing).length === 0 ? planFast(pod, claim, now) : planSlow(pod, claim, differing, now);
}

function planFast(pod: Pod, claim: Claim, now: number): ClaimPlan {
  const state: InplaceUpdateState = {
    phase: "completed",
    targetPodPhase: "running",
    updateTimestamp: formatTime(now),
    stableContainerStatuses: stableContainerStatuses(pod, Object.keys(claim.images)),
  };
  const annotations = {
    ...annotationsOf(claim, now),
    [annotationKeys.startedAt]: formatTime(now),
    [annotationKeys.inplaceUpdateState]: serializeInplaceUpdateState(state),
  };
  const change: PodChange = { phase: "running", labels: labelsOf(claim), annotations, removeAnnotations: left };
  return { kind: "patch", change, patch: podPatch(pod, change), path: "fast", isForPod: isForPod(claim) };
}

function planSlow(pod: Pod, claim: Claim, differing: TargetImages, now: number): ClaimPlan {
  const plan = triggerUpdate(
    pod,
    {
      containerImages: pinTargets(differing, hasPlainImages(pod) ? undefined : (useCountOf(pod) ?? 0)),
      labels: labelsOf(claim),
      annotations: annotationsOf(claim, now),
      removeAnnotations: left,
      targetPodPhase: "running",
      updatePodPhase: "starting",
      expectedPhase: "idle",
    },
    now,
  );
  return plan.kind === "patch" ? { kind: "patch", change: plan.change, patch: plan.patch, path: "slow", isForPod: true } : plan;
}

/** The node enforces the egress rules and mounts the volumes; labels and annotations of the caller are for programs that watch pods. */
function isForPod({ egress, volumeMounts = [], labels, annotations }: Claim): boolean {
  return egress !== undefined || volumeMounts.length > 0 || !isEmpty(labels) || !isEmpty(annotations);
}

/** What an idle pod may carry and a claimed one must not: a claim keeps a pod that was chosen for scale-down (W16). */
const left = [annotationKeys.chosenToGo, annotationKeys.sandboxStatusDetail];

function labelsOf({ sandboxId, team, user, labels }: Claim): Readonly<Record<string, string>> {
  return {
    ...labels,
    [labelKeys.sandboxId]: sandboxId,
    ...(team === undefined ? {} : { [labelKeys.team]: team }),
    ...(user === undefined ? {} : { [labelKeys.user]: user }),
  };
}

function annotationsOf(claim: Claim, now: number): Readonly<Record<string, string>> {
  const { startupTimeoutMs, idleTimeoutMs = 0, endTimeMs, onTimeout, metadata, volumeMounts = [] } = claim;
  return {
    ...claim.annotations,
    ...managedKeys(claim),
    [annotationKeys.sandboxId]: claim.sandboxId,
    [annotationKeys.claimedAt]: formatTime(now),
    ...(startupTimeoutMs === undefined ? {} : { [annotationKeys.startupTimeout]: formatSeconds(startupTimeoutMs) }),
    ...(idleTimeoutMs > 0 ? { [annotationKeys.idleTimeout]: formatSeconds(idleTimeoutMs) } : {}),
    ...(endTimeMs === undefined ? {} : { [annotationKeys.endTime]: formatTime(endTimeMs) }),
    ...(onTimeout === undefined ? {} : { [annotationKeys.onTimeout]: onTimeout }),
    ...trafficAnnotations(claim),
    ...(volumeMounts.length === 0 ? {} : { [annotationKeys.volumeMounts]: volumeMountsText(volumeMounts) }),
    ...(claim.hooks === undefined ? {} : { [annotationKeys.postStartHooks]: formatHooksMark(claim.hooks) }),
    ...(isEmpty(metadata) ? {} : { [annotationKeys.sandboxMetadata]: JSON.stringify(metadata) }),
    ...(claim.startOrder === undefined ? {} : { [annotationKeys.startOrder]: claim.startOrder }),
    ...claim.restored,
  };
}

function trafficAnnotations({
  autoResume,
  lifetimeMs,
  egress,
  privateTraffic,
  openDaemon,
  maskHost,
}: Claim): Readonly<Record<string, string>> {
  return {
    ...(autoResume === true ? { [annotationKeys.autoResume]: "true" } : {}),
    ...(autoResume === true && lifetimeMs !== undefined ? { [annotationKeys.lifetime]: formatSeconds(lifetimeMs) } : {}),
    ...(egress === undefined ? {} : { [annotationKeys.egressPolicy]: egressPolicyText(egress) }),
    ...(privateTraffic === true ? { [annotationKeys.privateTraffic]: "true" } : {}),
    ...(openDaemon === true ? { [annotationKeys.openDaemon]: "true" } : {}),
    ...(maskHost === undefined ? {} : { [annotationKeys.maskHost]: maskHost }),
  };
}

/** So that the wipe takes away exactly what the claim brought. */
function managedKeys({ labels, annotations }: Claim): Readonly<Record<string, string>> {
  return {
    ...(isEmpty(labels) ? {} : { [annotationKeys.managedLabelKeys]: JSON.stringify(Object.keys(labels ?? {})) }),
    ...(isEmpty(annotations) ? {} : { [annotationKeys.managedAnnotationKeys]: JSON.stringify(Object.keys(annotations ?? {})) }),
  };
}

function isEmpty(map: Readonly<Record<string, string>> | undefined): boolean {
  return map === undefined || Object.keys(map).length === 0;
}

/**
 * Requests were checked when they came; here it is made sure. A key of ours must not reach a pod, and one that the pod has from its
 * template, its node or its network could not be given back once overwritten.
 */
function wrongKey(pod: Pod, { labels = {}, annotations = {} }: Claim): ClaimPlan | undefined {
  const reserved = [...Object.keys(labels), ...Object.keys(annotations)].find(isReservedKey);
  if (reserved !== undefined) return refused("reserved-key", `the key ${JSON.stringify(reserved)} is reserved for AgentBox`);
  const label = Object.keys(labels).find((key) => Object.hasOwn(pod.metadata.labels ?? {}, key));
  if (label !== undefined) return refused("key-taken", `the label ${JSON.stringify(label)} is used by the pods of this pool`);
  const annotation = Object.keys(annotations).find((key) => Object.hasOwn(pod.metadata.annotations ?? {}, key));
  if (annotation === undefined) return undefined;
  return refused("key-taken", `the annotation ${JSON.stringify(annotation)} is used by the pods of this pool`);
}

/** Also on the fast path, where no exchange would trigger it. */
function wrongTarget(pod: Pod, images: TargetImages): ClaimPlan | undefined {
  if (Object.keys(images).length === 0) return refused("target-image-required", "the claim says of no container what it shall run");
  const names = pod.spec.containers.map(({ name }) => name);
  const unknown = Object.keys(images).find((name) => !names.includes(name));
  if (unknown === undefined) return undefined;
  return refused("container-not-found", `the pod has no container "${unknown}"; it has ${names.join(", ")}`);
}

function refused(code: ClaimRefusal, message: string): ClaimPlan {
  return { kind: "refused", code, message };
}
