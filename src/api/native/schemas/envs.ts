/** Envs, with their members and groups. The kinds in src/model define what a spec may contain. */
import { Type, type TSchema } from "typebox";
import { sandboxEnvKind } from "#model/sandbox-env.ts";
import { sandboxPoolKind } from "#model/sandbox-pool.ts";
import { count, labelledName, text } from "#model/schema-builders.ts";
import type { StructuralSchema } from "#model/structural-schema.ts";
import type { EnvBody, MemberWish } from "#services/envs/env-deps.ts";
import type { GroupBody } from "#services/envs/write-groups.ts";
import { closed, named, next, open, optional, pageQuery } from "./builders.ts";
import { eventProperties, objectSchema } from "./objects.ts";

/** Like stored objects, except for the mode: the server fills in its default, as for a file that is applied. */
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
const replicas = count("Wanted number of pods. Refused if an autoscaler sets it.", { maximum: 100_000 });

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
      "A member to add or change.",
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
    "Credentials of one registry. They are kept in a Secret that belongs to the Env, and no answer contains them.",
  ),
);

const envParts = envSchema as unknown as { readonly properties: Readonly<Record<string, TSchema>> };
const imagePullSecret = optional(
  Type.Union([credentialsSchema, Type.Null()], {
    description: "Credentials for the images of the Env's pods. Null removes them; if left out, they do not change.",
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
      "An Env to create.",
    ),
  ),
);

export const replaceEnvSchema = Type.Unsafe<EnvBody>(
  named("ReplaceEnv", closed({ ...envParts.properties, imagePullSecret }, "The whole new content of an Env.")),
);

const namespace = optional(text("Namespace; needed only if the name exists in several namespaces.", { minLength: 1, maxLength: 63 }));
export const envQuery = closed({ namespace }, "Which Env.");
export const envListQuery = closed(
  { ...pageQuery, namespace: optional(text("Only objects in this namespace.", { minLength: 1, maxLength: 63 })) },
  "Which Envs.",
);
export const deleteEnvQuery = closed(
  {
    namespace,
    endSandboxes: optional(
      Type.Boolean({ description: "True: end the running sandboxes now. By default they run until they end by themselves." }),
    ),
  },
  "Selects the Env and says what happens to its sandboxes.",
);
export const refreshQuery = closed(
  {
    namespace,
    member: optional(text("Only this member; all when left out.", { minLength: 1, maxLength: 63 })),
    dryRun: optional(Type.Boolean({ description: "Only report what would change." })),
  },
  "What to refresh.",
);

export const envPageSchema = open({ envs: Type.Array(envSchema, { description: "Sorted by name." }), next }, "A page of Envs.");

export const envMemberSchema = named(
  "EnvMember",
  open(
    {
      name: text("Name of its pool."),
      clusterID: text("Cluster of the member."),
      isLocal: Type.Boolean({ description: "True if this is the server's own cluster." }),
      config: configSchema,
      replicas: count("Wanted number of pods."),
      replicasSetBy: text("autoscaler or hand: says if an autoscaler or a request sets the replicas."),
      observed: optional(part(observedForm, "EnvObservedMember")),
    },
    "A member of an Env: its configuration and its last known state.",
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
      clusterID: text("Cluster of the member."),
      replicas: count("Wanted number of pods."),
      minReplicas: optional(count("As in the config of the member.")),
      maxReplicas: optional(count("As in the config of the member.")),
      state: optional(text("Active, Saturated, Missing or Inconsistent; absent until the controller has checked the member.")),
      message: optional(text("Why the member is not Active, and what to do about it.")),
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
      enabled: Type.Boolean({ description: "True if an autoscaler sets the replicas of the members." }),
      policy: optional(groupSchema),
      idle: count("Idle pods of all members."),
      running: count("Running sandboxes of all members."),
      desired: count("Wanted pods of all members."),
      waiting: count("Requests that wait for a pod of any member."),
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
            reason: text("Reason for programs, one word."),
            message: text("Explanation for people."),
          },
          "Says if autoscaling is on and able to act; absent until the controller has checked the Env.",
        ),
      ),
      groups: Type.Array(envGroupSchema, { description: "All groups with a policy or a member." }),
    },
    "Sizes of an Env's groups, with the reasons.",
  ),
);

const envEventSchema = named(
  "EnvEvent",
  open(
    {
      ...eventProperties,
      kind: text("SandboxEnv or SandboxPool."),
      name: text("Name of that object."),
    },
    "An event about an Env or one of its pools.",
  ),
);
export const envEventsSchema = open({ events: Type.Array(envEventSchema, { description: "Newest first." }) }, "What happened.");

const changeSchema = named(
  "FieldChange",
  open(
    {
      field: text("Path of the field, such as spec.template.spec.containers[0].image."),
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
              { from: optional(text("Version that the pool uses now.")), to: optional(text("Version after the refresh.")) },
              "Versions of the template.",
            ),
            changes: Type.Array(changeSchema, { description: "Empty for a member that is up to date." }),
          },
          "A member and the changes of its pool.",
        ),
        { description: "In the Env's order." },
      ),
    },
    "Changes of a refresh.",
  ),
);

export const clustersSchema = open(
  {
    clusters: Type.Array(
      named(
        "Cluster",
        open(
          {
            id: optional(text("Cluster id that Envs use; absent if the server was started without one.")),
            engine: optional(text("embedded or kubernetes; absent for another cluster.")),
            isLocal: Type.Boolean({ description: "True for this server's own cluster." }),
          },
          "A cluster.",
        ),
      ),
      { description: "This server's first." },
    ),
  },
  "Clusters.",
);
