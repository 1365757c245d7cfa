/** Puts one of our kinds together from the schemas of its parts. */
import { Type, type TSchema } from "typebox";
import { ownGroup, ownVersion } from "./keys.ts";
import type { ApiObject, ObjectMeta } from "./meta.ts";
import type { ResourceType, ScalePaths } from "./resource.ts";
import { text } from "./schema-builders.ts";
import { structuralSchemaOf } from "./structural-printer.ts";
import type { CustomKind, PrinterColumn } from "./structural-schema.ts";

export interface OwnResource {
  readonly kind: string;
  readonly shortName: string;
  readonly namespaced: boolean;
  readonly scale?: ScalePaths;
}

/** All our kinds have a status that is written apart from the spec: users own the one, controllers the other. */
export function ownResource<T extends ApiObject>({ kind, shortName, namespaced, scale }: OwnResource): ResourceType<T> {
  const singular = kind.toLowerCase();
  return {
    group: ownGroup,
    version: ownVersion,
    kind,
    plural: `${singular}s`,
    singular,
    shortNames: [shortName],
    namespaced,
    statusSubresource: true,
    ...(scale === undefined ? {} : { scale }),
  };
}

export interface ObjectParts<Spec extends TSchema, Status extends TSchema> {
  readonly description: string;
  readonly spec: Spec;
  readonly status: Status;
  /** Set when the name is also written into labels, which hold no more than 63 characters. */
  readonly nameMaxLength?: number;
}

export function objectSchema<Spec extends TSchema, Status extends TSchema>(parts: ObjectParts<Spec, Status>) {
  const name = parts.nameMaxLength === undefined ? {} : { properties: { name: { type: "string", maxLength: parts.nameMaxLength } } };
  return Type.Object(
    {
      apiVersion: Type.Optional(text("Version of this representation: agents.navix.sh/v1alpha1.")),
      kind: Type.Optional(text("Kind of this object.")),
      metadata: Type.Optional(Type.Unsafe<ObjectMeta>({ type: "object", ...name })),
      spec: parts.spec,
      status: Type.Optional(parts.status),
    },
    { description: parts.description },
  );
}

export interface KindParts<T extends ApiObject> {
  readonly resource: ResourceType<T>;
  readonly schema: TSchema;
  readonly printerColumns: readonly PrinterColumn[];
}

export function customKind<T extends ApiObject>(parts: KindParts<T>): CustomKind<T> {
  return {
    resource: parts.resource,
    schema: structuralSchemaOf(parts.schema),
    printerColumns: [...parts.printerColumns, { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }],
    // `kubectl get agentbox` shows everything of ours.
    categories: ["agentbox"],
  };
}
