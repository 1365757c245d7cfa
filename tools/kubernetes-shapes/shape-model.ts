/** The record as types with fields, in the terms of both generated files. */
import { referenceName } from "./from-server.ts";
import type { GoFields, OpenApiSchema, RecordedShapes } from "./recorded-shapes.ts";

export type FieldType =
  | { readonly sort: "scalar"; readonly type: string; readonly values?: readonly string[] }
  | { readonly sort: "object"; readonly type: string }
  | { readonly sort: "list" | "map"; readonly of: FieldType }
  /** Any JSON object. */
  | { readonly sort: "any" };

export interface ShapeField {
  readonly name: string;
  readonly type: FieldType;
  /** A client must write it. */
  readonly required: boolean;
  /** What becomes of an empty value: `left out`, `kept` if it was given, or `written` even if it was not. */
  readonly empty: "left out" | "kept" | "written";
  readonly fallback?: string;
}

export interface ShapeType {
  readonly name: string;
  readonly fields: readonly ShapeField[];
}

/** Types of the API that are one value in JSON. */
const scalars: Readonly<Record<string, string>> = {
  "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
  "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "microTime",
  "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "intOrString",
};

/** What a field may say where the OpenAPI of the server lists no values: the server takes these and refuses others. */
const conditionStatus = ["False", "True", "Unknown"];
const unlistedValues: Readonly<Record<string, readonly string[]>> = {
  "LabelSelectorRequirement.operator": ["DoesNotExist", "Exists", "In", "NotIn"],
  "NamespaceCondition.status": conditionStatus,
  "PodCondition.status": conditionStatus,
};

export function shapeTypes(record: RecordedShapes): readonly ShapeType[] {
  const types = Object.entries(record.schemas)
    .filter(([, { properties }]) => properties !== undefined)
    .map(([name, schema]) => ({ name: shortName(name), fields: fieldsOf(shortName(name), schema, { record, go: record.go[name] ?? {} }) }))
    .toSorted((left, right) => (left.name < right.name ? -1 : 1));
  const twice = types.find(({ name }, index) => types[index + 1]?.name === name);
  if (twice !== undefined) throw new Error(`two types of Kubernetes are called ${twice.name}: shape-model.ts must name one of them`);
  return types;
}

function shortName(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

interface Sources {
  readonly record: RecordedShapes;
  readonly go: GoFields;
}

function fieldsOf(owner: string, schema: OpenApiSchema, { record, go }: Sources): readonly ShapeField[] {
  return Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const isWritten = go.always?.includes(name) === true;
    const isPointer = go.pointers?.includes(name) === true;
    const fallback = fallbackOf(property, isPointer);
    const type = fieldType(property, record);
    const values = unlistedValues[`${owner}.${name}`];
    return {
      name,
      type: values === undefined ? type : { sort: "scalar", type: "string", values },
      required: schema.required?.includes(name) === true || (isWritten && isNeeded(property, schema, record)),
      empty: isWritten ? "written" : isPointer ? "kept" : "left out",
      ...(fallback !== undefined && { fallback }),
    };
  });
}

/** OpenAPI lets every kind be without metadata, and a pod without a spec, though a spec must have containers. The server refuses both. */
function isNeeded(property: OpenApiSchema, owner: OpenApiSchema, { schemas }: RecordedShapes): boolean {
  const reference = referenceOf(property);
  if (reference === undefined) return false;
  const isOfKind = shortName(reference) === "ObjectMeta" && owner.properties?.["kind"] !== undefined;
  return isOfKind || (schemas[reference]?.required ?? []).length > 0;
}

/** For a field that is no pointer the server also says `{}`, `""`, 0 and false, which is what an empty field is without a default. */
function fallbackOf({ default: value }: OpenApiSchema, isPointer: boolean): string | undefined {
  const isEmpty = value === "" || value === 0 || value === false;
  if (isEmpty && !isPointer) return undefined;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

function referenceOf({ $ref, allOf }: OpenApiSchema): string | undefined {
  const reference = $ref ?? allOf?.[0]?.$ref;
  return reference === undefined ? undefined : referenceName(reference);
}

function fieldType(schema: OpenApiSchema, record: RecordedShapes): FieldType {
  const reference = referenceOf(schema);
  if (reference !== undefined) return referredType(reference, record);
  const { type, items, additionalProperties } = schema;
  if (type === "array" && items !== undefined) return { sort: "list", of: fieldType(items, record) };
  if (type === "object" && additionalProperties !== undefined) return { sort: "map", of: fieldType(additionalProperties, record) };
  return type === "object" ? { sort: "any" } : scalarType(schema);
}

function scalarType(schema: OpenApiSchema): FieldType {
  const { type, format, enum: values } = schema;
  if (type === "boolean") return { sort: "scalar", type: "bool" };
  if (type === "integer" && (format === "int32" || format === "int64")) return { sort: "scalar", type: format };
  if (type === "string" && format === "byte") return { sort: "scalar", type: "bytes" };
  if (type === "string" && format === undefined) return { sort: "scalar", type, ...(values !== undefined && { values }) };
  throw new Error(`shape-model.ts does not know what this is: ${JSON.stringify(schema)}`);
}

function referredType(reference: string, { schemas }: RecordedShapes): FieldType {
  const scalar = scalars[reference];
  if (scalar !== undefined) return { sort: "scalar", type: scalar };
  return schemas[reference]?.properties === undefined ? { sort: "any" } : { sort: "object", type: shortName(reference) };
}
