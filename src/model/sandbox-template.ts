/** SandboxTemplate: a kind of sandbox that an administrator offers. Cluster-scoped; pools and Envs are made from it. */
import { Type, type Static } from "typebox";
import { conditions } from "./common-schemas.ts";
import { customKind, objectSchema, ownResource } from "./custom-kind.ts";
import type { Frozen } from "./frozen.ts";
import type { ApiObject } from "./meta.ts";
import type { ResourceType } from "./resource.ts";
import { risingVersionRule } from "./rising-version.ts";
import { embeddedTemplate } from "./sandbox-runtime.ts";
import { rules, text, version } from "./schema-builders.ts";

const visibilityRuleSchema = Type.Object(
  {
    team: Type.Optional(text("Team that sees the template; any when empty.")),
    users: Type.Optional(Type.Array(Type.String(), { description: "Users that see it; any when empty." })),
  },
  { description: "Callers that see the template: team and users must both match." },
);

const visibilitySchema = Type.Object(
  { rules: Type.Optional(Type.Array(visibilityRuleSchema, { description: "A caller that matches one of them sees the template." })) },
  { description: "Callers that see the template. All callers when it is left out or has no rules." },
);

const specProperties = {
  ...embeddedTemplate,
  version: Type.Optional(
    version("Semantic version, such as v1.2.0. Once there is one, every change but of the description needs a higher."),
  ),
  description: Type.Optional(text("For people.")),
  visibility: Type.Optional(visibilitySchema),
};

const specSchema = Type.Object(specProperties, {
  description: "What sandboxes made from this template are like.",
  ...rules(risingVersionRule(Object.keys(specProperties))),
});

const statusSchema = Type.Object(
  { conditions: Type.Optional(conditions("Available, Progressing, Degraded.")) },
  { description: "What the control plane has seen." },
);

export type TemplateVisibilityRule = Frozen<Static<typeof visibilityRuleSchema>>;
export type SandboxTemplateSpec = Frozen<Static<typeof specSchema>>;
export type SandboxTemplateStatus = Frozen<Static<typeof statusSchema>>;

export interface SandboxTemplate extends ApiObject {
  readonly spec: SandboxTemplateSpec;
  readonly status?: SandboxTemplateStatus;
}

export const SandboxTemplates: ResourceType<SandboxTemplate> = ownResource({
  kind: "SandboxTemplate",
  shortName: "sbt",
  namespaced: false,
});

export const sandboxTemplateSchema = objectSchema({
  description: "A kind of sandbox on offer: its pods, images and runtimes. SandboxPools and SandboxEnvs are made from it.",
  spec: specSchema,
  status: statusSchema,
});

export const sandboxTemplateKind = customKind({
  resource: SandboxTemplates,
  schema: sandboxTemplateSchema,
  printerColumns: [
    { name: "Version", type: "string", jsonPath: ".spec.version" },
    { name: "Description", type: "string", jsonPath: ".spec.description" },
    { name: "Idle Image", type: "string", jsonPath: ".spec.idleImage", priority: 1 },
  ],
});
