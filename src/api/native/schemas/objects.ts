/** Pools and templates as in their YAML. The kinds in src/model define what a spec may contain. */
import { Type, type TSchema } from "typebox";
import type { ApiObject } from "#model/meta.ts";
import { type SandboxPool, sandboxPoolKind } from "#model/sandbox-pool.ts";
import { type SandboxTemplate, sandboxTemplateKind } from "#model/sandbox-template.ts";
import { count, text } from "#model/schema-builders.ts";
import type { CustomKind } from "#model/structural-schema.ts";
import { closed, named, next, open, optional, pageQuery, texts, time } from "./builders.ts";

const givenByServer = "Set by the server; ignored in requests.";

const metadataSchema = named(
  "ObjectMeta",
  closed(
    {
      name: optional(text("Its name.", { minLength: 1, maxLength: 253 })),
      namespace: optional(text("Namespace; the server's default when left out.", { minLength: 1, maxLength: 63 })),
      labels: optional(texts("Labels.")),
      annotations: optional(texts("Annotations.")),
      resourceVersion: optional(text("In a replace request: the change is made only if the object still has this version.")),
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
    "Metadata, as on every Kubernetes object.",
  ),
);

/** The parts of a kind as named schemas. The server, which has the full schema, refuses unknown fields inside. */
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

const namespace = optional(text("Namespace; needed only if the name exists in several namespaces.", { minLength: 1, maxLength: 63 }));
export const poolQuery = closed({ namespace }, "Which pool.");
export const poolListQuery = closed(
  { ...pageQuery, namespace: optional(text("Only objects in this namespace.", { minLength: 1, maxLength: 63 })) },
  "Which pools.",
);
export const templateListQuery = closed(pageQuery, "Which templates.");

export const poolPageSchema = open({ pools: Type.Array(poolSchema, { description: "Sorted by name." }), next }, "A page of pools.");
export const templatePageSchema = open(
  { templates: Type.Array(templateSchema, { description: "Sorted by name." }), next },
  "A page of templates.",
);

export const scaleSchema = named("Scale", closed({ replicas: count("Wanted number of pods.", { maximum: 100_000 }) }, "A size."));

export const eventProperties = {
  type: text("Normal or Warning."),
  reason: text("Reason for programs, one word."),
  message: text("Explanation for people."),
  count: Type.Integer({ description: "Number of times that the event occurred." }),
  firstTime: optional(time("When first.")),
  lastTime: time("When last."),
};
const eventSchema = named("Event", open(eventProperties, "Something that happened."));
export const eventsSchema = open({ events: Type.Array(eventSchema, { description: "Newest first." }) }, "What happened.");
