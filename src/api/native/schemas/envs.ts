/** Envs: the object itself, as in its YAML, with its members and groups by themselves. What a spec may hold is said once, in src/model. */
import { Type, type TSchema } from "typebox";
import { sandboxEnvKind } from "#model/sandbox-env.ts";
import { sandboxPoolKind } from "#model/sandbox-pool.ts";
import { count, labelledName, text } from "#model/schema-builders.ts";
import type { StructuralSchema } from "#model/structural-schema.ts";
import type { EnvBody, MemberWish } from "#services/envs/env-deps.ts";
import type { GroupBody } from "#services/envs/write-groups.ts";
import { closed, named, next, open, optional, pageQuery } from "./builders.ts";
import { eventProperties, objectSchema } from "./objects.ts";

/** As stored objects are, but for the mode: the server fills in its default, as it does for a file that is applied. */
export const envSchema = objectSchema({ ...sandboxEnvKind, schema: withoutMode(sandboxEnvKind.schema) });

function withoutMode(schema: StructuralSchema): StructuralSchema {
  const { spec: own = {} } = schema.properties ?? {};
  const required = (own.required ?? []).filter((name) => name !== "mode");
  return { ...schema, properties: { ...schema.properties, spec: { ...own, required } } };
}

/** A part of the kind's schema under a name of its own. */
function part(schema: StructuralSchema | undefined, name: string): TSchema {
  return { ...schema, "x-schema-name": name };
}

const { spec, status } = sandboxEnvKind.schema.properties ?? {};
const memberForm = spec?.properties?.["clusters"]?.items?.properties?.["members"]?.items;
const groupForm = spec?.properties?.["autoscaling"]?.properties?.["groups"]?.items;
const observedForm = status?.properties?.["clusters"]?.items?.properties?.["observedMembers"]?.items;
const poolScalingForm = sandboxPoolKind.schema.properties?.["status"]?.properties?.["autoscaling"];

const configSchema = part(memberForm?.properties?.["config"], "EnvMemberConfig");
const replicas = count("How many pods it shall have. Refused where an autoscaler sets it.", { maximum: 100_000 });

export const memberWishSchema = Type.Unsafe<MemberWish>(
  named(
    "EnvMemberWish",
    closed(
      {
        name: optional(
          labelledName("Name of its pool. Derived from the Env's name and the size of its pods when left out, such as py-2c4gi."),
        ),
        config: optional(configSchema),
        replicas: optional(replicas),
      },
      "A member to be made or changed.",
    ),
  ),
);

const credentialsSchema = named(
  "ImagePullCredentials",
  closed(
    {
      registry: text("Host of the registry, such as registry.example.com.", { minLength: 1, maxLength: 255 }),
      username: text("The user.", { minLength: 1, maxLength: 255 }),
      password: text("The password, or a token.", { minLength: 1, maxLength: 8192 }),
    },
    "Credentials of one registry. They are kept in a Secret that belongs to the Env, and are never answered.",
  ),
);

const envParts = envSchema as unknown as { readonly properties: Readonly<Record<string, TSchema>> };
const imagePullSecret = optional(
  Type.Union([credentialsSchema, Type.Null()], {
    description: "Credentials for the images of the Env's pods. Null takes them away; left out, they stay as they are.",
  }),
);

export const createEnvSchema = Type.Unsafe<EnvBody>(
  named(
    "CreateEnv",
    closed(
      {
        ...envParts.properties,
        members: optional(
          Type.Array(memberWishSchema, { maxItems: 128, description: "Members in this server's cluster, beside those of spec.clusters." }),
        ),
        imagePullSecret,
      },
      "An Env to be made.",
    ),
  ),
);

export const replaceEnvSchema = Type.Unsafe<EnvBody>(
  named("ReplaceEnv", closed({ ...envParts.properties, imagePullSecret }, "An Env as it is to be from now on.")),
);

const namespace = optional(text("Namespace; needed only when several have the name.", { minLength: 1, maxLength: 63 }));
export const envQuery = closed({ namespace }, "Which Env.");
export const envListQuery = closed(
  { ...pageQuery, namespace: optional(text("Only of this namespace.", { minLength: 1, maxLength: 63 })) },
  "Which Envs.",
);
export const deleteEnvQuery = closed(
  {
    namespace,
    endSandboxes: optional(Type.Boolean({ description: "End the sandboxes that run. When left out they run on until they end." })),
  },
  "Which Env, and what becomes of its sandboxes.",
);
export const refreshQuery = closed(
  {
    namespace,
    member: optional(text("Only this member; all when left out.", { minLength: 1, maxLength: 63 })),
    dryRun: optional(Type.Boolean({ description: "Only say what would change." })),
  },
  "What to refresh.",
);

export const envPageSchema = open({ envs: Type.Array(envSchema, { description: "By name." }), next }, "A page of Envs.");

export const envMemberSchema = named(
  "EnvMember",
  open(
    {
      name: text("Name of its pool."),
      clusterID: text("Cluster that it belongs to."),
      isLocal: Type.Boolean({ description: "Whether that is this server's cluster." }),
      config: configSchema,
      replicas: count("How many pods it shall have."),
      replicasSetBy: text("autoscaler or hand: what sets the replicas."),
      observed: optional(part(observedForm, "EnvObservedMember")),
    },
    "A member of an Env, as it is asked for and as it was last seen.",
  ),
);
export const envMembersSchema = open(
  { members: Type.Array(envMemberSchema, { description: "In the Env's order." }) },
  "Members of an Env.",
);

export const groupSchema = part(groupForm, "EnvGroupPolicy");
/** A group without its name, which is in the path. */
export const groupBodySchema = Type.Unsafe<GroupBody>({
  ...groupForm,
  required: (groupForm?.required ?? []).filter((name) => name !== "name"),
  additionalProperties: false,
  "x-schema-name": "PutEnvGroup",
});
export const groupsSchema = open(
  { groups: Type.Array(groupSchema, { description: "In the Env's order." }) },
  "Policies of an Env's groups.",
);

const groupMemberSchema = named(
  "EnvGroupMember",
  open(
    {
      name: text("Name of its pool."),
      clusterID: text("Cluster that it belongs to."),
      replicas: count("How many pods it shall have."),
      minReplicas: optional(count("As in its config.")),
      maxReplicas: optional(count("As in its config.")),
      state: optional(text("Active, Saturated, Missing or Inconsistent; absent until it was seen once.")),
      message: optional(text("Why it is not Active, and what would help.")),
      idle: optional(count("Idle pods.")),
      running: optional(count("Running sandboxes.")),
      autoscaling: optional(part(poolScalingForm, "PoolAutoScalingStatus")),
    },
    "A member in its group.",
  ),
);
const envGroupSchema = named(
  "EnvGroup",
  open(
    {
      name: text("The scalingGroup of its members."),
      enabled: Type.Boolean({ description: "Whether an autoscaler sets the replicas of its members." }),
      policy: optional(groupSchema),
      idle: count("Idle pods of all its members."),
      running: count("Running sandboxes of all its members."),
      desired: count("Wanted pods of all its members."),
      waiting: count("Requests that wait for a pod of any of its members."),
      decision: optional(text("The latest decision of its autoscaler, and why.")),
      members: Type.Array(groupMemberSchema, { description: "Its members." }),
    },
    "A scaling group of an Env.",
  ),
);
export const autoscalingSchema = named(
  "EnvAutoscaling",
  open(
    {
      active: optional(
        open(
          {
            status: text("True, False or Unknown."),
            reason: text("One word for programs."),
            message: text("The same for people."),
          },
          "Whether autoscaling is on and able to act; absent until the Env was seen once.",
        ),
      ),
      groups: Type.Array(envGroupSchema, { description: "All groups that have a policy or a member." }),
    },
    "How large the groups of an Env are, and why.",
  ),
);

const envEventSchema = named(
  "EnvEvent",
  open(
    {
      ...eventProperties,
      kind: text("SandboxEnv or SandboxPool: what it happened to."),
      name: text("Name of that object."),
    },
    "Something that happened to an Env or one of its pools.",
  ),
);
export const envEventsSchema = open({ events: Type.Array(envEventSchema, { description: "Newest first." }) }, "What happened.");

const changeSchema = named(
  "FieldChange",
  open(
    {
      field: text("Where, such as spec.template.spec.containers[0].image."),
      from: optional(Type.Unknown({ description: "What is there; absent for nothing." })),
      to: optional(Type.Unknown({ description: "What comes instead; absent for nothing." })),
    },
    "A field that changes.",
  ),
);
export const refreshSchema = named(
  "EnvRefresh",
  open(
    {
      dryRun: Type.Boolean({ description: "True when nothing was changed." }),
      members: Type.Array(
        open(
          {
            name: text("The member."),
            templateVersion: open(
              { from: optional(text("What its pool is made from.")), to: optional(text("What it is made from afterwards.")) },
              "Versions of the template.",
            ),
            changes: Type.Array(changeSchema, { description: "Empty for a member that is up to date." }),
          },
          "A member and what changes in its pool.",
        ),
        { description: "In the Env's order." },
      ),
    },
    "What a refresh changes.",
  ),
);

export const clustersSchema = open(
  {
    clusters: Type.Array(
      named(
        "Cluster",
        open(
          {
            id: optional(text("What Envs call it; absent for a server that was started without one.")),
            engine: optional(text("embedded or kubernetes; absent for another cluster.")),
            isLocal: Type.Boolean({ description: "Whether it is this server's." }),
          },
          "A cluster.",
        ),
      ),
      { description: "This server's first." },
    ),
  },
  "Clusters.",
);
