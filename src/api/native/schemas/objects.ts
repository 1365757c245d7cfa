/** Pools and templates: the objects themselves, as in their YAML. What a spec may hold is said once, in src/model. */
import { Type, type TSchema } from "typebox";
import type { ApiObject } from "#model/meta.ts";
import { type SandboxPool, sandboxPoolKind } from "#model/sandbox-pool.ts";
import { type SandboxTemplate, sandboxTemplateKind } from "#model/sandbox-template.ts";
import { count, text } from "#model/schema-builders.ts";
import type { CustomKind } from "#model/structural-schema.ts";
import { closed, named, next, open, optional, pageQuery, texts, time } from "./builders.ts";

const givenByServer = "Given by the server; ignored in requests.";

const metadataSchema = named(
  "ObjectMeta",
  closed(
    {
      name: optional(text("Its name.", { minLength: 1, maxLength: 253 })),
      namespace: optional(text("Its namespace; the server's own when left out.", { minLength: 1, maxLength: 63 })),
      labels: optional(texts("Labels.")),
      annotations: optional(texts("Annotations.")),
      resourceVersion: optional(text("In a replace: only if the object is still this version.")),
      uid: optional(text(givenByServer)),
      generation: optional(Type.Integer({ description: givenByServer })),
      creationTimestamp: optional(text(givenByServer)),
      deletionTimestamp: optional(text(givenByServer)),
      deletionGracePeriodSeconds: optional(Type.Integer({ description: givenByServer })),
      finalizers: optional(Type.Array(Type.String(), { description: givenByServer })),
      ownerReferences: optional(Type.Array(Type.Unsafe<object>({ type: "object" }), { description: givenByServer })),
      generateName: optional(text(givenByServer)),
      managedFields: optional(Type.Array(Type.Unsafe<object>({ type: "object" }), { description: givenByServer })),
    },
    "As on every Kubernetes object.",
  ),
);

/** The parts of a kind under names of their own; unknown fields inside are refused by the server, which knows them all. */
export function objectSchema<T extends ApiObject>(kind: CustomKind) {
  const part = (name: string): TSchema => ({
    ...kind.schema.properties?.[name],
    [`x-schema-name`]: `${kind.resource.kind}${capital(name)}`,
  });
  const properties = {
    apiVersion: optional(text("agents.navix.sh/v1alpha1, or left out.")),
    kind: optional(text(`${kind.resource.kind}, or left out.`)),
    metadata: metadataSchema,
    spec: part("spec"),
    status: optional(part("status")),
  };
  return Type.Unsafe<T>(
    named(kind.resource.kind, closed(properties, `${kind.schema.description ?? ""} The status is ignored in requests.`)),
  );
}

function capital(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

export const poolSchema = objectSchema<SandboxPool>(sandboxPoolKind);
export const templateSchema = objectSchema<SandboxTemplate>(sandboxTemplateKind);

const namespace = optional(text("Namespace; needed only when several have the name.", { minLength: 1, maxLength: 63 }));
export const poolQuery = closed({ namespace }, "Which pool.");
export const poolListQuery = closed(
  { ...pageQuery, namespace: optional(text("Only of this namespace.", { minLength: 1, maxLength: 63 })) },
  "Which pools.",
);
export const templateListQuery = closed(pageQuery, "Which templates.");

export const poolPageSchema = open({ pools: Type.Array(poolSchema, { description: "By name." }), next }, "A page of pools.");
export const templatePageSchema = open(
  { templates: Type.Array(templateSchema, { description: "By name." }), next },
  "A page of templates.",
);

export const scaleSchema = named("Scale", closed({ replicas: count("How many pods it shall have.", { maximum: 100_000 }) }, "A size."));

export const eventProperties = {
  type: text("Normal or Warning."),
  reason: text("One word for programs."),
  message: text("The same for people."),
  count: Type.Integer({ description: "How often it happened." }),
  firstTime: optional(time("When first.")),
  lastTime: time("When last."),
};
const eventSchema = named("Event", open(eventProperties, "Something that happened."));
export const eventsSchema = open({ events: Type.Array(eventSchema, { description: "Newest first." }) }, "What happened.");
