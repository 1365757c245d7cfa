/**
 * Every label, annotation and finalizer key of AgentBox, and the fixed words that stand in them and in conditions.
 * They are a protocol: controllers, API processes, gateways and `kubectl` users meet on them. Nowhere else is one spelled out.
 *
 * Kinds import this file; the words that are enums of one kind's schema (pool phase, member state, …) stand beside that schema.
 */
import type { ApiObject } from "./meta.ts";

/** API group and version of our own kinds. */
export const ownGroup = "agents.navix.sh";
export const ownVersion = "v1alpha1";

export const labelKeys = {
  /** On a pod: the pool that made it. */
  sandboxPool: "agentbox.navix.sh/sandbox-pool",
  /** On a pod: one of sandboxPhases. Selectable, so that counting needs no second object. */
  sandboxPhase: "agentbox.navix.sh/sandbox-phase",
  /** On a claimed pod: the sandbox that it carries. */
  sandboxId: "agentbox.navix.sh/sandbox-id",
  /** On a pod: which program handed it out. */
  managedBy: "agentbox.navix.sh/managed-by",
  /** Owner of a pod, pool or checkpoint. */
  team: "scheduling.navix.sh/team",
  user: "scheduling.navix.sh/user",
  /** On a member pool: the name of its Env, so that siblings are one label query away. */
  env: "agentbox.navix.sh/env",
  /** On a member pool: its autoscaling group. Absent when it takes no part in autoscaling. */
  scalingGroup: "agentbox.navix.sh/scaling-group",
  /** On a ConfigMap: it remembers an idempotency key. */
  idempotencyKey: "agentbox.navix.sh/idempotency-key",
  /** On a checkpoint: one of checkpointPurposes; a snapshot when left out. */
  checkpointPurpose: "agentbox.navix.sh/checkpoint-purpose",
  /** On a Lease: which sort of process it is kept by. */
  processPart: "agentbox.navix.sh/process-part",
  /** Where an object came from; see syncSourceGlobal. */
  syncSource: "agentbox.io/sync-source",
} as const;

export const annotationKeys = {
  /** On a SandboxTemplate and a SandboxEnv that a template build made: the id of the built template. */
  builtTemplate: "agentbox.navix.sh/built-template",
  /** The sandbox id again, kept on a pod that is being recycled until its history is written. */
  sandboxId: "agentbox.navix.sh/sandbox-id",
  /** RFC 3339: when a request took the pod. */
  claimedAt: "agentbox.navix.sh/claimed-at",
  /** RFC 3339: when the sandbox was first running. */
  startedAt: "agentbox.navix.sh/started-at",
  /** Seconds without traffic after which the sandbox is released; absent: never. */
  idleTimeout: "agentbox.navix.sh/idle-timeout",
  /** Seconds that starting may take; goes before the pool's own limit. */
  startupTimeout: "agentbox.navix.sh/startup-timeout",
  /** RFC 3339: the latest traffic seen. Written late and only forward. */
  lastActive: "agentbox.navix.sh/last-active",
  /** RFC 3339: when the sandbox ends whatever it does. */
  endTime: "agentbox.navix.sh/end-time",
  /** One of timeoutActions: what idle timeout and end time do to the sandbox; kill when left out. */
  onTimeout: "agentbox.navix.sh/on-timeout",
  /** RFC 3339: since when the sandbox is wished paused; absent: it is to run. The node answers with podConditions.paused. */
  paused: "agentbox.navix.sh/paused",
  /** "true", beside `paused`: the pause is to be a deep one (model/deep-pause.ts) as soon as the sandbox stands still. */
  pauseDeep: "agentbox.navix.sh/pause-deep",
  /** An RFC 3339 time, a space, and why the paused sandbox could not become a checkpoint then: it keeps its memory and its pod. */
  deepPauseFailure: "agentbox.navix.sh/deep-pause-failure",
  /** Name of the Checkpoint that is the sandbox from now on, on the pod that it has left. Stays until the pod is recycled. */
  deepPaused: "agentbox.navix.sh/deep-paused",
  /** Name of the Checkpoint that the sandbox is being resumed from. Removed when it runs: until then it falls back to the checkpoint. */
  resumedFrom: "agentbox.navix.sh/resumed-from",
  /** Sealed: the variables, user and folder that the sandbox was made with, for a start from a checkpoint. */
  startOrder: "agentbox.navix.sh/start-order",
  /** "true": traffic wakes the paused sandbox. */
  autoResume: "agentbox.navix.sh/auto-resume",
  /** Seconds that the sandbox was made to live, where traffic wakes it: a resume gives it at least so much again. */
  lifetime: "agentbox.navix.sh/lifetime",
  /** "true": a request to a port of the sandbox, other than its daemon's, must carry the sandbox's traffic token. */
  privateTraffic: "agentbox.navix.sh/private-traffic",
  /** "true": the sandbox was made without an access token, and its daemon answers every request. */
  openDaemon: "agentbox.navix.sh/open-daemon",
  /** What programs in the sandbox see as the host of a request; `${PORT}` stands for the port. Absent: what the client named. */
  maskHost: "agentbox.navix.sh/mask-request-host",
  /** JSON EgressPolicy (egress-policy.ts): where the sandbox may connect to. Stays until the pod is recycled. */
  egressPolicy: "agentbox.navix.sh/egress-policy",
  /** JSON LayerWish (layer-wish.ts): a checkpoint of the sandbox is being taken on a cluster. The node answers with podConditions.layer. */
  layerWish: "agentbox.navix.sh/layer-wish",
  /** JSON list of VolumeMount (volume-mounts.ts): written by a claim. A pod that has it is not used again. */
  volumeMounts: "agentbox.navix.sh/volume-mounts",
  /** On a volume that was deleted by force: its files are gone for all but the sandboxes that still have it mounted. */
  volumeForced: "agentbox.navix.sh/volume-forced",
  /** JSON object: what the caller wants remembered about the sandbox. */
  sandboxMetadata: "agentbox.navix.sh/sandbox-metadata",
  /** Which labels and annotations came from the caller, so that a release can take exactly these away again. */
  managedLabelKeys: "agentbox.navix.sh/managed-label-keys",
  managedAnnotationKeys: "agentbox.navix.sh/managed-annotation-keys",
  /** One of sandboxStopReasons. Read when the history record is written, after the release. */
  stopReason: "agentbox.navix.sh/stop-reason",
  /** RFC 3339. */
  terminatedAt: "agentbox.navix.sh/terminated-at",
  /** One of failureReasons, or what the container's last state says. */
  failureReason: "agentbox.navix.sh/failure-reason",
  failureMessage: "agentbox.navix.sh/failure-message",
  /** Decimal. */
  exitCode: "agentbox.navix.sh/exit-code",
  /** JSON object, container name to image: what ran, noted before the pod goes back to its waiting image. */
  runningImages: "agentbox.navix.sh/running-images",
  /** What the container was called by its runtime, noted before it is replaced. */
  containerId: "agentbox.navix.sh/container-id",
  /** JSON HooksMark (sandbox/hooks-mark.ts): the post-start hooks that have not all run yet, sealed. Removed when they have, or at release. */
  postStartHooks: "agentbox.navix.sh/post-start-hooks",
  /** On a pod: what a create asks its runtimes before it is answered, as JSON (`sandbox/runtimes/ready-checks.ts`). */
  runtimeChecks: "agentbox.navix.sh/runtime-checks",
  /** JSON: how far an exchange of container images has come. */
  inplaceUpdateState: "agentbox.navix.sh/inplace-update-state",
  /** RFC 3339, on a pod that is stopping: since when it rests, its sandbox ended and its containers to be renewed when its node has time. */
  restsSince: "agentbox.navix.sh/rests-since",
  /** JSON SandboxStatusDetail: the last known reason why an idle or starting pod does not come up (sandbox/health/status-note.ts). */
  sandboxStatusDetail: "agentbox.navix.sh/sandbox-status-detail",
  /** On a pod: "true" when the daemon is to run the image's own entrypoint. */
  runEntrypoint: "agentbox.navix.sh/run-entrypoint",
  /** Decimal: how many sandboxes the pod has carried. Makes every image reference of the pod a new one. */
  useCount: "agentbox.navix.sh/use-count",
  /** On a pod template: one of recyclePolicies; Auto when left out. */
  recyclePolicy: "agentbox.navix.sh/recycle-policy",
  /** On a pod template, decimal: after how many sandboxes a pod is replaced. Goes before the control plane's own number. */
  maxUses: "agentbox.navix.sh/max-uses",
  /** On a pod template: repositories between commas, for which tenants may use the pool's pull secrets beside those of its own images. */
  imageRepositories: "agentbox.navix.sh/image-repositories",
  /** On a pod: hash of all that its pool wants of an idle pod. Differs from the pool's present one: the pod is outdated. */
  templateHash: "agentbox.navix.sh/template-hash",
  /** RFC 3339: since when an idle pod is chosen for scale-down. A claim removes it and so keeps the pod. */
  chosenToGo: "agentbox.navix.sh/scale-down-protected",
  /** On a pool, RFC 3339: the latest create request. Written late; a younger value may be in memory. */
  lastSandboxCreateTime: "agentbox.navix.sh/last-sandbox-create-time",
  /** On a template: Markdown for its users. */
  docs: "agentbox.navix.sh/docs",
  /** On a template: no longer read; docs took its place. Named so that it stays reserved. */
  poolDocs: "agentbox.navix.sh/pool-docs",
  /** On a pool: which template it was made from, in which version, and JSON of what it changed. */
  templateName: "agentbox.navix.sh/template-name",
  templateVersion: "agentbox.navix.sh/template-version",
  overrides: "agentbox.navix.sh/overrides",
  /** On a pool or its template, JSON SandboxReservationSpec: what a scheduler is to keep for each of its pods. */
  reservation: "scheduling.navix.sh/reservation",
  /** On a pod, JSON: the resources that are kept for it. For schedulers. */
  replicaQuota: "scheduling.navix.sh/replica-quota",
  /** On the Lease of a pod, JSON: the claim of one of its uses (engines/kubernetes/claims/claim-lease.ts). */
  claim: "agentbox.navix.sh/claim",
  /** RFC 3339: since when the idle pod is closed to claims, because it is to be deleted. */
  leaving: "agentbox.navix.sh/leaving",
  /** On the Lease of an API process, JSON: how many creates wait there for a pod of each pool (claim-demand.ts). */
  claimDemand: "agentbox.navix.sh/claim-demand",
  /** On an Env before it is deleted, or on a member pool before its member is removed, "true": sandboxes that run are ended. Without it they run on. */
  endSandboxes: "agentbox.navix.sh/end-sandboxes",
  /** On a pool without an Env: "true": it gets one of its own name. "false": it gets none, even where all pools do. */
  adopt: "agentbox.navix.sh/adopt",
  /** On an Env that was made for a pool, decimal: metadata.generation of the pool when the two were last equal. */
  adoptedGeneration: "agentbox.navix.sh/adopted-generation",
} as const;

/**
 * Keys in the metadata of a create that are wishes, for clients whose API has no fields for them (E2B's SDKs). They say how the sandbox is to
 * be made and are not remembered about it.
 */
export const createWishKeys = {
  /** Image of the first container. */
  image: "agentbox.navix.sh/image",
  /** Which members of the Env may serve it. */
  scalingGroup: "agentbox.navix.sh/scaling-group",
  instanceType: "agentbox.navix.sh/instance-type",
  multiplier: "agentbox.navix.sh/multiplier",
  /** Seconds that waiting for a pod and starting may take. */
  startupTimeout: "agentbox.navix.sh/startup-timeout",
  /** "true": answered with the claim, while the sandbox starts. */
  noWait: "agentbox.navix.sh/no-wait",
} as const;

export const finalizers = {
  /** On every pod of a pool: holds a deleted pod until its history record is written. */
  sandboxProtection: "agentbox.navix.sh/sandbox-protection",
  /** On a pool: holds it until its pods are gone. */
  pool: "agentbox.navix.sh/finalizer",
  /** On a template that pools name: holds it until none does. */
  templateInUse: "agentbox.navix.sh/template-in-use",
  /** On a checkpoint: holds it until its image is gone, which waits until nothing names it. */
  checkpointImage: "agentbox.navix.sh/checkpoint-image",
  /** On an Env: holds it until its pools are gone, or given back. */
  envMembers: "agentbox.navix.sh/env-members",
  /** On a volume: holds it until its data is gone. */
  volumeData: "agentbox.navix.sh/volume-data",
} as const;

/** `type` of the Secrets in the system namespace that are API keys. */
export const apiKeySecretType = "agentbox.navix.sh/api-key";

/** Type of the Secrets that hold webhooks, and the label by which they are found. */
export const webhookSecretType = "agentbox.navix.sh/webhook";
export const webhookLabel = "agentbox.navix.sh/webhook";

/** Value of labelKeys.managedBy. */
export const managedBySandboxApiServer = "sandbox-api-server";

/** Value of labelKeys.syncSource for what a hub keeps in step; anything else is local. */
export const syncSourceGlobal = "global";

/** Values of labelKeys.sandboxPhase, in the order of a life. */
export const sandboxPhases = ["idle", "starting", "running", "stopping", "failed"] as const;
export type SandboxPhase = (typeof sandboxPhases)[number];

/** Keys of a pool's status.phaseSelectors. */
export const phaseSelectorKeys = ["all", ...sandboxPhases] as const;

/** Phases of an image exchange, inside annotationKeys.inplaceUpdateState. */
export const inplaceUpdatePhases = ["starting", "stopping", "completed"] as const;
export type InplaceUpdatePhase = (typeof inplaceUpdatePhases)[number];

/** Values of annotationKeys.onTimeout. */
export const timeoutActions = ["kill", "pause", "deep-pause"] as const;
export type TimeoutAction = (typeof timeoutActions)[number];

/**
 * Values of annotationKeys.recyclePolicy. Auto: a pod is used again unless something of its last user could outlive the exchange
 * of containers. Always: the template's author says that what is shared there is safe. Never: a new pod for every sandbox.
 */
export const recyclePolicies = ["Auto", "Always", "Never"] as const;
export type RecyclePolicy = (typeof recyclePolicies)[number];

/** In the pod template of pools whose Env has mode OnDemandJob: each pod carries one sandbox and is deleted after it. */
export const onDemandRecyclePolicy: RecyclePolicy = "Never";

/** Completed: a caller ended it while it ran. Canceled: it ended before it ran. Released: a timeout, or `agentbox down`. Failed: everything else. */
export const sandboxStopReasons = ["Completed", "Canceled", "Released", "Failed"] as const;
export type SandboxStopReason = (typeof sandboxStopReasons)[number];

/** Causes that AgentBox itself gives; a container's own (OOMKilled, Error, …) stand beside them. */
export const failureReasons = {
  idleTimeout: "IdleTimeout",
  maxLifetime: "MaxLifetime",
  startupTimeout: "StartupTimeout",
  /** It was claimed and could not be armed. */
  startFailed: "StartFailed",
  hookFailed: "HookFailed",
  oomKilled: "OOMKilled",
  evicted: "Evicted",
  podDeleted: "PodDeleted",
  nodeLost: "NodeLost",
  podFailed: "PodFailed",
  /** `agentbox down` removed the machine's sandboxes. */
  serverDown: "ServerDown",
  /** The machine restarted under the sandbox. */
  nodeRestarted: "NodeRestarted",
  /** It ran when a backup was made, and the backup was restored. */
  restoredFromBackup: "RestoredFromBackup",
  /** It was paused deeply, and its checkpoint was deleted. */
  checkpointLost: "CheckpointLost",
  /** The container ended and nothing says why. */
  containerRestarted: "ContainerRestarted",
} as const;

/** Reason of the event on a pod that runs a sandbox and lost processes because memory ran out. */
export const outOfMemoryEvent = "OutOfMemory";

/** What a diagnosis may give as its reason, beside what a container says itself, such as CreateContainerError. */
export const diagnosisReasons = {
  pulling: "Pulling",
  imagePullBackOff: "ImagePullBackOff",
  errImagePull: "ErrImagePull",
  crashLoopBackOff: "CrashLoopBackOff",
  oomKilled: "OOMKilled",
  podFailed: "PodFailed",
  evicted: "Evicted",
  unschedulable: "Unschedulable",
} as const;

/** Conditions of ours in a pod's status, written by its node. */
export const podConditions = {
  /** The sandbox's container is frozen. */
  paused: "agentbox.navix.sh/Paused",
  /** The sandbox of the pod has ended, and what is left of it is frozen. */
  atRest: "agentbox.navix.sh/AtRest",
  /** What annotationKeys.egressPolicy asks for holds. */
  egressPolicy: "agentbox.navix.sh/EgressPolicy",
  /** What annotationKeys.volumeMounts asks for is mounted. */
  volumeMounts: "agentbox.navix.sh/VolumeMounts",
  /** The layer that annotationKeys.layerWish asks for is in the registry. */
  layer: "agentbox.navix.sh/Layer",
} as const;

export const podConditionReasons = {
  /** With podConditions.paused or podConditions.atRest False: the node could not freeze the pod. */
  freezeFailed: "FreezeFailed",
  /** With podConditions.egressPolicy False: annotationKeys.egressPolicy cannot be read. */
  invalidPolicy: "InvalidPolicy",
  /** With podConditions.volumeMounts False: the node could not mount what annotationKeys.volumeMounts names. */
  mountFailed: "MountFailed",
  /** With podConditions.layer: it is in the registry, or why it is not stands in the message. */
  layerPushed: "LayerPushed",
  layerFailed: "LayerFailed",
} as const;

export const templateConditions = {
  available: "Available",
  progressing: "Progressing",
  degraded: "Degraded",
} as const;

export const poolConditions = {
  /** An idle pod could be claimed now. */
  available: "Available",
  /** Pods are being added or taken away. */
  scaling: "Scaling",
  /** Some pods are failed, or idle and not ready. */
  degraded: "Degraded",
} as const;

export const poolConditionReasons = {
  idlePodsAvailable: "IdlePodsAvailable",
  noIdlePodsAvailable: "NoIdlePodsAvailable",
  scalingUp: "ScalingUp",
  scalingDown: "ScalingDown",
  replicasReady: "ReplicasReady",
  allPodsHealthy: "AllPodsHealthy",
  unhealthyIdlePods: "UnhealthyIdlePods",
  failedPodsPresent: "FailedPodsPresent",
  unhealthyAndFailedPods: "UnhealthyAndFailedPods",
  /** Nothing can be made: there is no template of that name, or nothing in it to run. */
  templateMissing: "TemplateMissing",
  templateInvalid: "TemplateInvalid",
  /** A registry does not know an image, or does not answer. */
  imageUnavailable: "ImageUnavailable",
  /** A limit of the team or of the server keeps the pool from having more. */
  limitReached: "LimitReached",
  /** The server refuses the pods. */
  podsRefused: "PodsRefused",
  /** A plugin refuses the pods. */
  refusedByPlugin: "RefusedByPlugin",
  /** Pods are made and end, or are given up, before they were ready once: their node refuses them, or what they run does. */
  podsNotStarting: "PodsNotStarting",
} as const;

export const templateConditionReasons = {
  podsAvailable: "PodsAvailable",
  noPodsAvailable: "NoPodsAvailable",
  poolsUpToDate: "PoolsUpToDate",
  poolsOutdated: "PoolsOutdated",
  poolsHealthy: "PoolsHealthy",
  poolsDegraded: "PoolsDegraded",
  templateInvalid: "TemplateInvalid",
  /** It was deleted, and stays as long as pools name it. */
  deletedInUse: "DeletedInUse",
  notUsed: "NotUsed",
} as const;

/** Reason of a condition, and beginning of a message: nothing in this version acts on the object. */
export const notImplemented = "NotImplemented";

export const envConditions = {
  /** All members are Active. */
  ready: "Ready",
  /** All member pools come from the Env's template, in the pinned version if there is one. */
  templateConsistent: "TemplateConsistent",
  /** Autoscaling is on and able to act. */
  autoscalingActive: "AutoscalingActive",
} as const;

/** Of the embedded engine, in the clusters of an Env. */
export const localClusterID = "local";

/** `kind` of an owner reference to an Env. */
export const envOwnerKind = "SandboxEnv";

const reservedPrefixes = ["agentbox.navix.sh/", "scheduling.navix.sh/"];
const reservedKeys: ReadonlySet<string> = new Set([labelKeys.syncSource]);

/** True for label and annotation keys that belong to AgentBox: whatever a user sends under one must not reach an object. */
export function isReservedKey(key: string): boolean {
  return reservedPrefixes.some((prefix) => key.startsWith(prefix)) || reservedKeys.has(key);
}

/** True for what a hub keeps in step in all of its clusters: a change here would be undone by its next sync. */
export function isGlobal({ metadata }: ApiObject): boolean {
  return metadata.labels?.[labelKeys.syncSource] === syncSourceGlobal;
}

/** The one Secret with an Env's registry credentials; every member pool's pods refer to it. */
export function envImagePullSecretName(envName: string): string {
  return `ips-${envName}`;
}

/**
 * True when an Env owns the object, as its controller or not: adopted pools carry an owner reference that does not control.
 * Any version of our group counts, so that pools made by a later version are still seen as owned.
 */
export function hasEnvOwner(object: ApiObject): boolean {
  const owners = object.metadata.ownerReferences ?? [];
  return owners.some((owner) => owner.kind === envOwnerKind && owner.apiVersion.startsWith(`${ownGroup}/`));
}
