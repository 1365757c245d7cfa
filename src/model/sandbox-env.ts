/**
 * SandboxEnv: what users name when they want a sandbox. It binds one template to member pools, in one or more clusters,
 * that serve its requests and are scaled together. Its parts: `env-member.ts`, `env-autoscaling.ts`, `env-status.ts`.
 */
import { Type, type Static } from "typebox";
import { customKind, objectSchema, ownResource } from "./custom-kind.ts";
import { autoscalingSchema } from "./env-autoscaling.ts";
import { envClusters, instanceTypeRules } from "./env-member.ts";
import { envStatusSchema, type SandboxEnvStatus } from "./env-status.ts";
import type { Frozen } from "./frozen.ts";
import type { ApiObject } from "./meta.ts";
import type { ResourceType } from "./resource.ts";
import { deepPauseSchema, podCreationImagePolicies } from "./sandbox-pool.ts";
import { choice, duration, int32, objectName, rules, text, version } from "./schema-builders.ts";

/** WarmPool: pods wait in member pools. OnDemandJob: no stock; a member pool makes a pod for each request, which is deleted after it. */
export const envModes = ["WarmPool", "OnDemandJob"] as const;

const templateRefSchema = Type.Object(
  {
    name: objectName("Name of the SandboxTemplate."),
    version: Type.Optional(version("Stay with this version of it. Its current one when left out.")),
  },
  { description: "The template of all members." },
);

const defaultsSchema = Type.Object(
  {
    instanceType: Type.Optional(text("Entry of the instance type catalogue.", { maxLength: 253 })),
    multiplier: Type.Optional(int32("How many times its resources. Needed with instanceType.", { minimum: 1 })),
  },
  { description: "Size of a sandbox whose request names none.", ...rules(...instanceTypeRules) },
);

const overridesSchema = Type.Object(
  {
    image: Type.Optional(text("Image of the first container.")),
    podCreationImagePolicy: Type.Optional(choice(podCreationImagePolicies, "Image that new pods start with.")),
    defaultStartupTimeout: Type.Optional(duration("How long a sandbox may take to start when its request does not say.")),
    defaultIdleTimeout: Type.Optional(duration("How long a sandbox may go without traffic when its request does not say.")),
    deepPause: Type.Optional(deepPauseSchema),
  },
  { description: "What all members have instead of the template's values." },
);

const specSchema = Type.Object(
  {
    templateRef: templateRefSchema,
    mode: choice(
      envModes,
      "How requests are served: from pods that wait (WarmPool), or by a pod that is made for each request and deleted after it (OnDemandJob).",
      {
        default: "WarmPool",
      },
    ),
    defaults: Type.Optional(defaultsSchema),
    clusters: Type.Optional(envClusters("Members, by cluster.")),
    autoscaling: Type.Optional(autoscalingSchema),
    overrides: Type.Optional(overridesSchema),
  },
  {
    description: "What the Env should be like.",
    ...rules({
      rule:
        "!has(self.autoscaling) || !has(self.autoscaling.groups) || self.autoscaling.groups.all(group, has(self.clusters) && " +
        "self.clusters.exists(cluster, has(cluster.members) && cluster.members.exists(member, " +
        "has(member.config) && has(member.config.scalingGroup) && member.config.scalingGroup == group.name)))",
      message: "every autoscaling group needs at least one member with its name as config.scalingGroup",
      fieldPath: ".autoscaling.groups",
    }),
  },
);

export type SandboxEnvDefaults = Frozen<Static<typeof defaultsSchema>>;
export type SandboxEnvSpec = Frozen<Static<typeof specSchema>>;

export interface SandboxEnv extends ApiObject {
  readonly spec: SandboxEnvSpec;
  readonly status?: SandboxEnvStatus;
}

export const SandboxEnvs: ResourceType<SandboxEnv> = ownResource({ kind: "SandboxEnv", shortName: "sbe", namespaced: true });

export const sandboxEnvSchema = objectSchema({
  description: "What users name when they want a sandbox: one template, and the pools that serve it.",
  spec: specSchema,
  status: envStatusSchema,
  nameMaxLength: 63,
});

export const sandboxEnvKind = customKind({
  resource: SandboxEnvs,
  schema: sandboxEnvSchema,
  printerColumns: [
    { name: "Mode", type: "string", jsonPath: ".spec.mode" },
    { name: "Template", type: "string", jsonPath: ".spec.templateRef.name" },
    { name: "Members", type: "integer", jsonPath: ".status.memberCount" },
    { name: "Desired", type: "integer", jsonPath: ".status.desiredReplicas" },
    { name: "Running", type: "integer", jsonPath: ".status.runningReplicas" },
    { name: "Idle", type: "integer", jsonPath: ".status.idleReplicas" },
    { name: "Waiting", type: "integer", jsonPath: ".status.waitingRequests", priority: 1, description: "Requests waiting for a pod" },
    { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: "Reason", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
  ],
});
