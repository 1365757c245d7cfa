/**
 * TypeBox schemas for the values that Kubernetes objects are made of. The schemas of our kinds are the single source of
 * their TypeScript types, of validators and of the CustomResourceDefinitions:
 *
 * - `schema-builders.ts` (this file) scalars, lists and maps,
 * - `common-schemas.ts` types of Kubernetes that our kinds contain (Condition, Probe, pod template, …),
 * - `sandbox-template.ts`, `sandbox-pool.ts`, `sandbox-env.ts` (with `env-member.ts`, `env-autoscaling.ts`, `env-status.ts`),
 *   `checkpoint.ts` one kind each; `sandbox-runtime.ts` what templates and pools share; `sandbox-pod.ts` JSON inside pod annotations,
 * - `custom-kind.ts` puts a kind together, `structural-printer.ts` turns its TypeBox schema into a structural one,
 * - `crd.ts` prints the CustomResourceDefinition, `kinds.ts` lists and finds all kinds.
 *
 * Bounds that the meaning of a field does not give are there for CEL: the API server refuses a rule whose worst case,
 * computed from maxItems and maxLength, is too expensive.
 */
import { Type, type TEnum, type TInteger, type TSchema, type TString } from "typebox";
import { durationPattern } from "./duration.ts";
import type { CelRule } from "./structural-schema.ts";

/** What a label value may be, without its length; the empty text is one. */
export const labelValuePattern = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$";

/** A DNS subdomain: what object names are. */
export const objectNamePattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/** Semantic version with an optional v in front, or nothing. */
export const versionPattern =
  "^(v?(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)(-[0-9A-Za-z-]+(\\.[0-9A-Za-z-]+)*)?(\\+[0-9A-Za-z-]+(\\.[0-9A-Za-z-]+)*)?)?$";

/** A Kubernetes quantity: a number with an optional binary, decimal or exponent suffix. */
export const quantityPattern = "^[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+))?$";

interface Options {
  readonly [keyword: string]: unknown;
}

export function text(description: string, options: Options = {}): TString {
  return Type.String({ description, ...options });
}

/** The server keeps the format's bounds by itself, but only bounds of the schema make it name the field. */
export function int32(description: string, options: Options = {}): TInteger {
  return Type.Integer({ description, format: "int32", minimum: -2147483648, maximum: 2147483647, ...options });
}

export function int64(description: string, options: Options = {}): TInteger {
  return Type.Integer({ description, format: "int64", ...options });
}

/** A number of things or seconds that a user asks for. */
export function count(description: string, options: Options = {}): TInteger {
  return int32(description, { minimum: 0, ...options });
}

export function choice<const Values extends string[]>(
  values: readonly [...Values],
  description: string,
  options: Options = {},
): TEnum<Values> {
  return Type.Enum<Values>(values, { description, type: "string", ...options });
}

/** RFC 3339. */
export function time(description: string): TString {
  return text(description, { format: "date-time" });
}

export function duration(description: string): TString {
  return text(description, { pattern: durationPattern, maxLength: 64 });
}

export function version(description: string): TString {
  return text(description, { pattern: versionPattern, maxLength: 128 });
}

/** The name of an object that is also written into labels, where 63 characters is the limit. */
export function labelledName(description: string): TString {
  return text(description, { pattern: objectNamePattern, minLength: 1, maxLength: 63 });
}

export function objectName(description: string): TString {
  return text(description, { pattern: objectNamePattern, minLength: 1, maxLength: 253 });
}

export function labelValue(description: string, options: Options = {}): TString {
  return text(description, { pattern: labelValuePattern, maxLength: 63, ...options });
}

export function stringMap(description: string, value: TString = Type.String()) {
  return Type.Record(Type.String(), value, { description });
}

/** Labels of an object to be made: a bad value would be refused there, long after its author has gone. */
export function labelMap(description: string) {
  return stringMap(description, Type.String({ pattern: labelValuePattern, maxLength: 63 }));
}

/** A list in which `key` names each entry once, so that writers can own entries instead of the list. */
export function listMap<Item extends TSchema>(item: Item, key: string, options: Options = {}) {
  return Type.Array(item, { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key], ...options });
}

export function intOrString(options: Options = {}) {
  return Type.Union([Type.Integer(), Type.String()], { "x-kubernetes-int-or-string": true, ...options });
}

/** Resource name to quantity. */
export function resourceList(description: string) {
  return Type.Record(Type.String(), intOrString({ pattern: quantityPattern }), { description });
}

/** CEL rules of an object, as an option of its schema. */
export function rules(...validations: readonly CelRule[]): { readonly "x-kubernetes-validations": readonly CelRule[] } {
  return { "x-kubernetes-validations": validations };
}
