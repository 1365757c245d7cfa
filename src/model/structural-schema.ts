import type { ApiObject, Json } from "./meta.ts";
import type { ResourceType } from "./resource.ts";

/** The subset of OpenAPI v3 that a CustomResourceDefinition takes as its structural schema. */
export interface StructuralSchema {
  readonly type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  readonly description?: string;
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly additionalProperties?: StructuralSchema;
  readonly items?: StructuralSchema;
  readonly required?: readonly string[];
  readonly enum?: readonly Json[];
  readonly default?: Json;
  readonly nullable?: boolean;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly anyOf?: readonly StructuralSchema[];
  readonly "x-kubernetes-preserve-unknown-fields"?: true;
  readonly "x-kubernetes-int-or-string"?: true;
  readonly "x-kubernetes-list-type"?: "atomic" | "map" | "set";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
  readonly "x-kubernetes-validations"?: readonly CelRule[];
}

export interface CelRule {
  readonly rule: string;
  readonly message?: string;
  readonly reason?: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired" | "FieldValueDuplicate";
  readonly fieldPath?: string;
}

export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly jsonPath: string;
  readonly description?: string;
  /** 0 is always shown; 1 only in wide output. */
  readonly priority?: number;
}

/** One of our own kinds: all that its CustomResourceDefinition says, and so all that the embedded store needs to serve it. */
export interface CustomKind<T extends ApiObject = ApiObject> {
  readonly resource: ResourceType<T>;
  readonly schema: StructuralSchema;
  readonly printerColumns: readonly PrinterColumn[];
  readonly categories?: readonly string[];
}
