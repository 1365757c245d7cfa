/** The rules of our own kinds, as their CustomResourceDefinitions give them to an API server. */
import { ApiError, type StatusCause } from "#kube/api-error.ts";
import type { ApiObject } from "#model/meta.ts";
import { apiVersionOf, type ResourceType } from "#model/resource.ts";
import type { CustomKind } from "#model/structural-schema.ts";
import { metadataShape } from "./builtin/kubernetes-shape.ts";
import { readShape, unreadableObject } from "./builtin/read-shape.ts";
import { Causes, noField } from "./causes.ts";
import { asRecord, isRecord, type JsonRecord, shared, withProperties } from "./json.ts";
import type { KindRules, Subresource } from "./kind-rules.ts";
import { metadataFields, type MetadataRules, validateMetadata, validateMetadataUpdate } from "./metadata-rules.ts";
import { dnsSubdomainMistakes } from "#model/names.ts";
import { validateScaleSpec, validateScaleStatus } from "./scale-rules.ts";
import { checkRules, compileRules, type RuleTree } from "./schema/cel-rules.ts";
import { applyDefaults } from "./schema/defaults.ts";
import { checkLists } from "./schema/list-types.ts";
import { prune } from "./schema/prune.ts";
import { compileObjectSchema, type SchemaNode } from "./schema/schema-node.ts";
import { nothingStored, validate } from "./schema/validate.ts";

export function customKindRules(kind: CustomKind): KindRules {
  const { resource } = kind;
  const schema = compileObjectSchema(kind.schema);
  const checks: Checks = {
    resource,
    schema,
    status: schema.properties.get("status"),
    rules: compileRules(schema),
    metadata: { namespaced: resource.namespaced, nameMistakes: dnsSubdomainMistakes, qualifiedFinalizers: false },
  };
  return {
    resource,
    normalize: (object) => normalize(checks, object),
    prepareForCreate: (object) => (resource.statusSubresource ? withProperties(object, { status: undefined }) : object),
    prepareForUpdate: (next, current, subresource) => prepareForUpdate(checks, next, current, subresource),
    validateCreate: (object) => validateCreate(checks, object),
    validateUpdate: (next, current, subresource) => validateUpdate(checks, next, current, subresource),
    selectableFields: (object) => metadataFields(resource, object.metadata),
  };
}

interface Checks {
  readonly resource: ResourceType;
  readonly schema: SchemaNode;
  readonly status: SchemaNode | undefined;
  readonly rules: RuleTree | undefined;
  readonly metadata: MetadataRules;
}

function normalize({ resource, schema }: Checks, object: ApiObject): ReturnType<KindRules["normalize"]> {
  checkTypeMeta(resource, object);
  const metadata = readMetadata(resource, object);
  const unknown: string[] = [];
  const complete = applyDefaults(schema, prune(schema, object, "", unknown));
  const named = withTypeMeta(isRecord(complete) ? complete : {}, resource);
  return {
    object: withProperties(named, { metadata: metadata.value }),
    unknownFields: [...metadata.unknownFields.map((field) => `metadata.${field}`), ...unknown.sort()],
  };
}

function checkTypeMeta(resource: ResourceType, { apiVersion, kind }: ApiObject): void {
  for (const [field, value] of Object.entries({ apiVersion, kind })) {
    if (value !== undefined && value !== null && typeof value !== "string") throw unreadableObject(resource, `${field} must be a text`);
  }
  const expected = apiVersionOf(resource);
  if (apiVersion === undefined || apiVersion === null || apiVersion === expected) return;
  throw new ApiError("BadRequest", `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`);
}

function readMetadata(resource: ResourceType, object: ApiObject): { value: JsonRecord; unknownFields: readonly string[] } {
  if (!isRecord(object.metadata)) throw unreadableObject(resource, "metadata must be an object");
  return readShape(resource, metadataShape, object.metadata);
}

/** Pruning and defaulting leave an object an object; the writer may have left out kind and apiVersion. */
function withTypeMeta(object: JsonRecord, resource: ResourceType): ApiObject {
  const named: JsonRecord = { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object };
  const isComplete = object["apiVersion"] !== undefined && object["kind"] !== undefined;
  return (isComplete ? object : named) as unknown as ApiObject;
}

/** A write of the status subresource takes only the status from `next`, not even labels; any other write takes everything else. */
function prepareForUpdate({ resource, schema }: Checks, next: ApiObject, current: ApiObject, subresource: Subresource): ApiObject {
  const stored = asRecord(current);
  const given = asRecord(next);
  if (subresource === "status") {
    return withProperties(current, { status: shared(given["status"], stored["status"]) });
  }
  const kept: Record<string, unknown> = {};
  for (const key of schema.properties.keys()) {
    if (!["apiVersion", "kind", "metadata"].includes(key)) kept[key] = shared(given[key], stored[key]);
  }
  if (resource.statusSubresource) kept["status"] = stored["status"];
  return withProperties(next, kept);
}

function validateCreate(checks: Checks, object: ApiObject): readonly StatusCause[] {
  const causes = new Causes();
  if (!isOfKind(checks, object, causes)) return causes.all;
  validateMetadata(checks.metadata, object.metadata, causes);
  validate(checks.schema, object, nothingStored, { causes, root: "" });
  validateScaleSpec(checks.resource, object, causes);
  validateScaleStatus(checks.resource, object, causes);
  checkLists({ node: checks.schema, value: object, stored: undefined, path: "" }, causes);
  askRules(checks, object, nothingStored, causes);
  return causes.all;
}

function validateUpdate(checks: Checks, next: ApiObject, current: ApiObject, subresource: Subresource): readonly StatusCause[] {
  const causes = new Causes();
  if (!isOfKind(checks, next, causes)) return causes.all;
  validateMetadataUpdate(checks.metadata, next.metadata, current.metadata, causes);
  if (subresource === "status") validateStatus(checks, next, current, causes);
  else {
    // Metadata is compared field by field above; the schema knows only that it is an object.
    validate(checks.schema, withProperties(next, { metadata: current.metadata }), current, { causes, root: "" });
    validateScaleSpec(checks.resource, next, causes);
  }
  validateScaleStatus(checks.resource, next, causes);
  validateLists(checks, next, current, causes);
  askRules(checks, next, current, causes);
  return causes.all;
}

function validateStatus(checks: Checks, next: ApiObject, current: ApiObject, causes: Causes): void {
  const status = asRecord(next)["status"];
  if (status === undefined || checks.status === undefined) return;
  validate(checks.status, status, asRecord(current)["status"] ?? nothingStored, { causes, root: "status" });
}

/** An object that was stored with duplicates may keep them. */
function validateLists({ schema }: Checks, next: ApiObject, current: ApiObject, causes: Causes): void {
  const found = new Causes();
  checkLists({ node: schema, value: next, stored: current, path: "" }, found);
  if (found.count === 0) return;
  const before = new Causes();
  checkLists({ node: schema, value: current, stored: undefined, path: "" }, before);
  if (before.count === 0) causes.addAll(found);
}

function isOfKind({ resource }: Checks, object: ApiObject, causes: Causes): boolean {
  if (object.kind !== resource.kind) causes.invalid("kind", object.kind ?? "", `must be ${resource.kind}`);
  return causes.count === 0;
}

const blocking = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

/** CEL rules rely on the schema, so they do not run for an object that breaks it. */
function askRules({ rules }: Checks, next: ApiObject, current: unknown, causes: Causes): void {
  if (rules === undefined) return;
  if (causes.all.some((cause) => blocking.has(cause.reason))) {
    const detail =
      "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
    causes.invalid(noField, null, detail);
    return;
  }
  checkRules(rules, { value: next, stored: current, path: "", unchanged: false }, causes);
}
