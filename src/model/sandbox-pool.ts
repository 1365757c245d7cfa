/** SandboxPool: pods of one shape, kept warm for sandboxes. */
import { Type, type Static } from "typebox";
import { conditions, labelSelectorSchema } from "./common-schemas.ts";
import { customKind, objectSchema, ownResource } from "./custom-kind.ts";
import type { Frozen } from "./frozen.ts";
import type { ApiObject } from "./meta.ts";
import type { ResourceType } from "./resource.ts";
import { embeddedTemplate } from "./sandbox-runtime.ts";
import { choice, count, duration, int32, int64, listMap, objectName, rules, stringMap, text, time } from "./schema-builders.ts";

/** PoolDefaultImage: pods start on the template's image, so that a claim for it needs no swap. IdleImage: pods start on idleImage. */
export const podCreationImagePolicies = ["PoolDefaultImage", "IdleImage"] as const;
export type PodCreationImagePolicy = (typeof podCreationImagePolicies)[number];

/**
 * In the order of precedence in which a pool's phase is decided, Terminating first and Ready last. A pool that cannot make the pods that it
 * wants is Degraded before everything but Terminating.
 */
export const poolPhases = ["Terminating", "Pending", "ScalingUp", "ScalingDown", "Degraded", "Ready"] as const;
export type SandboxPoolPhase = (typeof poolPhases)[number];

/**
 * What the last try to grow gave. Enough: all that was asked. JustRight: some of it. Insufficient: no room.
 * Failed: it could not be tried. All but Enough make the pool count as saturated for a while.
 */
export const scaleUpAttemptResults = ["Enough", "JustRight", "Insufficient", "Failed"] as const;
export type PoolScaleUpAttemptResult = (typeof scaleUpAttemptResults)[number];

/** How the daemon comes into new pods: as an image that is mounted, or by an init container that copies it. */
export const poolDaemonDeliveries = ["ImageVolume", "InitContainer"] as const;
export type PoolDaemonDelivery = (typeof poolDaemonDeliveries)[number];

/** Digest: images stand in new pods with their digest alone, because a container runtime takes no tag beside it. */
export const poolImageForms = ["Digest"] as const;
export type PoolImageForm = (typeof poolImageForms)[number];

/** Also what an Env says for its members. */
export const deepPauseSchema = Type.Object(
  {
    after: Type.Optional(
      duration("How long a sandbox may be paused before it gives back its pod, such as 24h. Without a limit when left out."),
    ),
    whenNeeded: Type.Optional(
      Type.Boolean({
        description:
          "Whether the sandbox that is paused the longest gives back its pod when a create finds no idle one; not when left out.",
      }),
    ),
  },
  {
    description:
      "When paused sandboxes become checkpoints: they keep their id and files and lose their processes. Only at their own wish when left out.",
  },
);

/** Also the snapshot inside an Env member. There, the template may still come from the Env; so the rule about it is the kind's. */
const specProperties = {
  replicas: count("Pods wanted in all: idle, starting, running and stopping. Set by the Env's autoscaler when an Env owns the pool."),
  templateName: Type.Optional(objectName("SandboxTemplate to start from. Fields set here go before the template's.")),
  defaultStartupTimeout: Type.Optional(
    duration(
      "How long a sandbox may take to start when its request does not say, such as 2m. Also the limit for every start in this pool.",
    ),
  ),
  defaultIdleTimeout: Type.Optional(
    duration("How long a sandbox may go without traffic when its request does not say, such as 30m. No limit when left out."),
  ),
  deepPause: Type.Optional(deepPauseSchema),
  podCreationImagePolicy: Type.Optional(
    choice(podCreationImagePolicies, "Image that new pods start with: the template's own (PoolDefaultImage) or idleImage (IdleImage).", {
      default: "IdleImage",
    }),
  ),
  ...embeddedTemplate,
};

export const poolSnapshotSchema = Type.Object(specProperties, {
  description: "The pool as it is to be made. Kept by the control plane; change config instead, except for replicas.",
});

const specSchema = Type.Object(specProperties, {
  description: "What the pool should be like. Needs templateName or template.",
  ...rules({
    rule: "has(self.templateName) || has(self.template)",
    message: "templateName or template is needed: there is nothing to make pods from",
    reason: "FieldValueRequired",
    fieldPath: ".templateName",
  }),
});

const autoscalingStatusSchema = Type.Object(
  {
    lastScaleUpTime: Type.Optional(time("Latest growth of spec.replicas. Starts the cooldown.")),
    lastScaleDownTime: Type.Optional(time("Latest shrinking of spec.replicas. Starts the stabilization time.")),
    idleZeroSince: Type.Optional(time("Since when there has been no idle pod; absent while there is one.")),
    lastScaleUpAttemptTime: Type.Optional(
      time("Latest try to grow, whatever came of it. Starts the saturation cooldown unless it was Enough."),
    ),
    lastScaleUpAttemptResult: Type.Optional(choice(scaleUpAttemptResults, "What that try gave.")),
    saturatedUntil: Type.Optional(time("Until then the pool counts as full; absent when it does not.")),
    decision: Type.Optional(text("The latest decision of its group, and why, such as: 12 wanted: 7 in use, 0 waiting, 5 spare.")),
    scaleUpErrorMessage: Type.Optional(text("Why that try was not Enough, in one line.")),
    observedGeneration: Type.Optional(int64("metadata.generation that the autoscaler saw when it wrote this.")),
  },
  { description: "What the autoscaler remembers. Absent while it is off for this pool." },
);

const resolvedImageSchema = Type.Object(
  {
    image: text("Image as the template names it."),
    digest: text("What that meant, such as sha256:…"),
    resolvedAt: Type.Optional(time("Since when it means this.")),
  },
  { description: "An image of the pool and the very one that its tag stood for." },
);

const containerImageSchema = Type.Object(
  {
    container: text("Name of the container."),
    image: text("Image as the template names it."),
    digest: text("What that meant, such as sha256:…"),
  },
  { description: "What a container runs." },
);

const servingSchema = Type.Object(
  {
    templateHash: text("Annotation template-hash of the pods that are made from it."),
    images: listMap(containerImageSchema, "container", { description: "What sandboxes run unless their request says otherwise." }),
    waitingImages: listMap(containerImageSchema, "container", { description: "What idle pods run." }),
    runsImage: Type.Optional(Type.Boolean({ description: "Whether sandboxes run their image's own program." })),
  },
  {
    description:
      "The last version of the template of which a pod became ready. Sandboxes are made from it until a pod of a newer version is ready.",
  },
);

const statusSchema = Type.Object(
  {
    phase: Type.Optional(
      choice(
        poolPhases,
        "Sum of it all: being deleted; unable to make the pods that it wants, or with unhealthy ones; empty and wanted so; too few pods; too many; all well.",
      ),
    ),
    // Not a sum of the others: failed pods and pods without a phase are replicas too. The scale subresource needs one number.
    replicas: Type.Optional(int32("Pods that there are, terminating ones left out.")),
    idleReplicas: Type.Optional(int32("Pods waiting to be claimed.")),
    unavailableIdleReplicas: Type.Optional(int32("Those of them that are not ready and so cannot be claimed.")),
    outdatedIdleReplicas: Type.Optional(int32("Those of them that are made from an earlier template, and are being replaced.")),
    runningReplicas: Type.Optional(int32("Pods with a running sandbox.")),
    startingReplicas: Type.Optional(int32("Pods on their way from idle to running.")),
    stoppingReplicas: Type.Optional(int32("Pods on their way from running to idle.")),
    failedReplicas: Type.Optional(int32("Failed pods.")),
    pendingRequests: Type.Optional(int32("Requests waiting for a pod. A throttled copy, for people.")),
    selector: Type.Optional(text("Selector of the pool's pods as text, for kubectl scale and autoscalers. Programs use labelSelector.")),
    labelSelector: Type.Optional(labelSelectorSchema),
    phaseSelectors: Type.Optional(
      stringMap("Ready-made selectors for kubectl get pods -l: all, idle, starting, running, stopping, failed."),
    ),
    conditions: Type.Optional(
      conditions("Available: a pod can be claimed. Scaling: the number of pods is changing. Degraded: some are unhealthy."),
    ),
    resolvedImages: Type.Optional(
      listMap(resolvedImageSchema, "image", { description: "What the tags of the pool's images were last seen to mean." }),
    ),
    daemonDelivery: Type.Optional(
      choice(
        poolDaemonDeliveries,
        "How AgentBox's daemon comes into new pods: as an image volume, or by an init container where the cluster has no image volumes. Absent where nodes bring it.",
      ),
    ),
    imageForm: Type.Optional(
      choice(
        poolImageForms,
        "Digest: a container runtime was seen to refuse a tag beside a digest, so images are written without one, and pods are replaced after each use. Absent: pods are used again.",
      ),
    ),
    serving: Type.Optional(servingSchema),
    autoscaling: Type.Optional(autoscalingStatusSchema),
  },
  { description: "What the control plane has seen." },
);

export type SandboxPoolSpec = Frozen<Static<typeof specSchema>>;
export type SandboxPoolStatus = Frozen<Static<typeof statusSchema>>;
/** The version of its template that a pool hands out. */
export type ServedVersion = Frozen<Static<typeof servingSchema>>;
export type ResolvedPoolImage = Frozen<Static<typeof resolvedImageSchema>>;
export type PoolAutoScalingStatus = Frozen<Static<typeof autoscalingStatusSchema>>;

export interface SandboxPool extends ApiObject {
  readonly spec: SandboxPoolSpec;
  readonly status?: SandboxPoolStatus;
}

export const SandboxPools: ResourceType<SandboxPool> = ownResource({
  kind: "SandboxPool",
  shortName: "sbp",
  namespaced: true,
  scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas", labelSelectorPath: ".status.selector" },
});

export const sandboxPoolSchema = objectSchema({
  description: "Pods of one shape that are kept warm, so that a sandbox can start at once.",
  spec: specSchema,
  status: statusSchema,
  nameMaxLength: 63,
});

export const sandboxPoolKind = customKind({
  resource: SandboxPools,
  schema: sandboxPoolSchema,
  printerColumns: [
    { name: "Phase", type: "string", jsonPath: ".status.phase" },
    { name: "Desired", type: "integer", jsonPath: ".spec.replicas" },
    { name: "Idle", type: "integer", jsonPath: ".status.idleReplicas" },
    { name: "Running", type: "integer", jsonPath: ".status.runningReplicas" },
    { name: "Starting", type: "integer", jsonPath: ".status.startingReplicas" },
    { name: "Stopping", type: "integer", jsonPath: ".status.stoppingReplicas" },
    { name: "Failed", type: "integer", jsonPath: ".status.failedReplicas" },
    { name: "Health", type: "string", jsonPath: '.status.conditions[?(@.type=="Degraded")].reason', description: "What is wrong with it" },
    { name: "Waiting", type: "integer", jsonPath: ".status.pendingRequests", priority: 1, description: "Requests waiting for a pod" },
    { name: "Template", type: "string", jsonPath: ".spec.templateName", priority: 1 },
    { name: "Message", type: "string", jsonPath: '.status.conditions[?(@.type=="Degraded")].message', priority: 1 },
  ],
});
