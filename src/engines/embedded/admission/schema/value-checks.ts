import type { StructuralSchema } from "#model/structural-schema.ts";
import { type Causes, noField } from "../causes.ts";
import { isList, isRecord, jsonEqual } from "../json.ts";
import type { SchemaNode } from "./schema-node.ts";

/**
 * Where mistakes are reported. A status write validates the status alone: the server then leaves `status` out of its
 * sentences, but not out of the field.
 */
export interface Report {
  readonly causes: Causes;
  /** Path of the value that validation started from; empty for a whole object. */
  readonly root: string;
}

export function fieldAt(report: Report, path: string): string {
  if (report.root === "") return path === "" ? noField : path;
  return path === "" ? report.root : `${report.root}.${path}`;
}

type TypeName = "null" | "boolean" | "string" | "array" | "object" | "integer" | "number";

function typeName(value: unknown): TypeName {
  if (value === null) return "null";
  if (isList(value)) return "array";
  if (isRecord(value)) return "object";
  // A whole number that is too large for 64 bits was read as a fraction.
  if (typeof value === "number") return Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? "integer" : "number";
  return typeof value === "boolean" ? "boolean" : "string";
}

/** Judges the value itself; what it contains is the business of validate.ts. */
export function checkValue(node: SchemaNode, value: unknown, path: string, report: Report): void {
  checkType(node, value, path, report);
  if (typeof value === "string") checkText(node, value, path, report);
  else if (typeof value === "number") checkNumber(node, value, path, report);
  checkEnum(node, value, path, report);
}

/** Stricter than the server in one thing: where a text with a format belongs, the server takes a list of anything. */
function checkType(node: SchemaNode, value: unknown, path: string, report: Report): void {
  const wanted = wantedTypes(node.schema);
  const actual = typeName(value);
  if (wanted.length === 0 || wanted.includes(actual)) return;
  if ((actual === "integer" && wanted.includes("number")) || (actual === "null" && node.nullable)) return;
  const { format } = node.schema;
  const byFormat = format !== undefined && !["string", "array", "null"].includes(actual);
  const expected = byFormat ? format : wanted.join(",");
  const got = byFormat ? goFormat(actual) : actual;
  report.causes.typeInvalid(fieldAt(report, path), got, `${path} in body must be of type ${expected}: ${JSON.stringify(got)}`);
}

const noType: readonly TypeName[] = [];
const intOrString: readonly TypeName[] = ["integer", "string"];

function wantedTypes(schema: StructuralSchema): readonly TypeName[] {
  if (schema["x-kubernetes-int-or-string"] === true) return intOrString;
  return schema.type === undefined ? noType : [schema.type];
}

/** Where a format is asked for, the server names the Go type of what it got. */
function goFormat(actual: TypeName): string {
  if (actual === "integer") return "int64";
  return actual === "number" ? "float64" : "";
}

/** The server stops at the first mistake in a text, except for its format. */
function checkText(node: SchemaNode, value: string, path: string, report: Report): void {
  const { minLength, maxLength, pattern } = node.schema;
  const field = fieldAt(report, path);
  if (maxLength !== undefined && lengthOf(value) > maxLength) report.causes.tooLong(field, maxLength);
  else if (minLength !== undefined && lengthOf(value) < minLength) {
    report.causes.invalid(field, value, `${path} in body should be at least ${minLength} chars long`);
  } else if (node.pattern !== undefined && !node.pattern.test(value)) {
    report.causes.invalid(field, value, `${path} in body should match '${pattern}'`);
  }
  if (node.format !== undefined && !node.format(value)) {
    report.causes.typeInvalid(field, value, `${path} in body must be of type ${node.schema.format}: ${JSON.stringify(value)}`);
  }
}

/** In characters, not in UTF-16 units: the second half of a pair does not count. */
function lengthOf(text: string): number {
  return text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0);
}

/** An integer of n bits is at least minus this, and less than this. */
const integerLimits: Readonly<Record<string, number>> = { int32: 2 ** 31, int64: 2 ** 63 };

function checkNumber(node: SchemaNode, value: number, path: string, report: Report): void {
  const { type, format, minimum, maximum } = node.schema;
  const field = fieldAt(report, path);
  if (type === "integer") {
    const limit = integerLimits[format ?? "int64"] ?? Infinity;
    const kind = format === undefined ? "integer (default format)" : `integer with format ${format}`;
    if (!Number.isInteger(value) || value < -limit || value >= limit) {
      report.causes.invalid(fieldAt(report, ""), "", `Checked value must be of type ${kind} in ${path}`);
    }
  }
  const low = boundFor(value, minimum);
  const high = boundFor(value, maximum);
  if (low !== undefined && value < low) report.causes.invalid(field, value, `${path} in body should be greater than or equal to ${low}`);
  if (high !== undefined && value > high) report.causes.invalid(field, value, `${path} in body should be less than or equal to ${high}`);
}

/** The server compares whole numbers with the bound cut to a whole number. */
function boundFor(value: number, bound: number | undefined): number | undefined {
  return bound !== undefined && Number.isInteger(value) ? Math.trunc(bound) : bound;
}

function checkEnum(node: SchemaNode, value: unknown, path: string, report: Report): void {
  const allowed = node.schema.enum;
  if (allowed === undefined || (value !== null && allowed.some((one) => jsonEqual(one, value)))) return;
  const names = allowed.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
  report.causes.notSupported(fieldAt(report, path), value, names);
}
