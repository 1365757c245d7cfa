/** Validates one part of a request against its schema, and reports what is wrong and where. */
import type { TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { labelValuePattern, objectNamePattern, quantityPattern, versionPattern } from "#model/schema-builders.ts";
import { ServiceError } from "#services/service-error.ts";
import { fieldPath } from "../http/failure.ts";

type Checked = { readonly value: unknown } | { readonly error: ServiceError };
type Complaint = ReturnType<Validator["Errors"]>[number];

/** `part` is Fastify's name for it: body, querystring, params or headers. */
export function requestValidator(schema: TSchema, part: string): (data: unknown) => Checked {
  const validator = Compile(schema);
  return (data) => {
    const value = part === "querystring" ? queryValues(schema, data) : part === "body" ? bodyValue(schema, data) : data;
    if (part === "body" && value === null)
      return { error: new ServiceError("invalid_request", "body: is required, in JSON", { field: "body" }) };
    return validator.Check(value) ? { value } : { error: invalid(part, validator.Errors(value)) };
  };
}

/** A missing body counts as an empty object if the schema requires no field. */
function bodyValue(schema: TSchema, data: unknown): unknown {
  const { required = [] } = schema as { readonly required?: readonly string[] };
  return data === null && required.length === 0 ? {} : data;
}

const prefixes: Readonly<Record<string, string>> = { querystring: "query", params: "path", headers: "header" };

function invalid(part: string, complaints: readonly Complaint[]): ServiceError {
  // The validator complains twice about an unknown field, and the second complaint says more. The number of complaints is limited.
  const found = complaints.filter(({ keyword }) => keyword !== "boolean");
  const { path, text } = chosen(found.length === 0 ? complaints : found);
  const prefix = prefixes[part];
  const inside = path.length === 0 ? [] : [fieldPath(path)];
  const field = [...(prefix === undefined ? [] : [prefix]), ...inside].join(".") || "body";
  return new ServiceError("invalid_request", `${field}: ${text}`, { field });
}

interface Chosen {
  readonly path: readonly string[];
  readonly text: string;
}

/** The first complaint. If no form of a union fits, the complaint about the form that the caller most likely meant. */
function chosen(complaints: readonly Complaint[]): Chosen {
  const [first] = complaints;
  if (first === undefined) return { path: [], text: "is not valid" };
  const choice = complaints.find(({ keyword, schemaPath }) => keyword === "anyOf" && first.schemaPath.startsWith(`${schemaPath}/anyOf/`));
  if (choice === undefined) return { path: pathOf(first), text: textOf(first) };
  const ofForms = complaints.filter(({ schemaPath }) => schemaPath.startsWith(`${choice.schemaPath}/anyOf/`));
  // If the request has a wrong value inside of one form, the caller most likely meant that form.
  const inside = ofForms.find(({ instancePath }) => instancePath.startsWith(`${choice.instancePath}/`));
  if (inside !== undefined) return { path: pathOf(inside), text: textOf(inside) };
  const here = ofForms.filter(({ instancePath }) => instancePath === choice.instancePath);
  return { path: partsOf(choice.instancePath), text: here.map(formText).join(", or ") };
}

function pathOf(complaint: Complaint): readonly string[] {
  const named = namedIn(complaint);
  return [...partsOf(complaint.instancePath), ...(named === undefined ? [] : [named])];
}

/** A JSON pointer. */
function partsOf(instancePath: string): readonly string[] {
  const [, ...parts] = instancePath.split("/");
  return parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The field that the complaint is about, relative to its place. */
function namedIn(complaint: Complaint): string | undefined {
  if (complaint.keyword === "required") return complaint.params.requiredProperties[0];
  return complaint.keyword === "additionalProperties" ? complaint.params.additionalProperties[0] : undefined;
}

function textOf(complaint: Complaint): string {
  if (complaint.keyword === "required") return "is required";
  if (complaint.keyword === "additionalProperties" || complaint.keyword === "boolean") return "is not known here";
  if (complaint.keyword === "enum") return `must be one of ${complaint.params.allowedValues.join(", ")}`;
  if (complaint.keyword === "pattern") return patternText(String(complaint.params.pattern));
  return complaint.message;
}

/** What a pattern requires, in words: a regular expression does not help users. */
const patterns: Readonly<Record<string, string>> = {
  "^/": "must begin with /",
  "^[^=]+=": "must be key=value",
  [versionPattern]: "must be a semantic version such as v1.2.0",
  [quantityPattern]: "must be a quantity such as 500m, 2 or 512Mi",
  [objectNamePattern]: "may contain only lower-case letters, digits, - and ., and must begin and end with a letter or digit",
  [labelValuePattern]: "may contain only letters, digits, -, _ and ., and must begin and end with a letter or digit",
};

function patternText(pattern: string): string {
  const known = patterns[pattern.replaceAll(/^\/|\/[a-z]*$/g, "")] ?? patterns[pattern];
  return (
    known ??
    (pattern.includes("h|m|s") || pattern.includes("ms") ? "must be a time span such as 90s, 30m or 1h30m" : "has the wrong format")
  );
}

function formText(complaint: Complaint): string {
  const named = namedIn(complaint);
  return named === undefined ? textOf(complaint) : `${named} ${textOf(complaint)}`;
}

/** Converts the texts of a query to the types of its schema. A text that does not convert stays as it is, and the check refuses it. Pure. */
interface Form {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Form>>;
  readonly items?: { readonly enum?: readonly unknown[] };
}

function queryValues(schema: TSchema, query: unknown): Readonly<Record<string, unknown>> {
  const { properties = {} } = schema as Form;
  return Object.fromEntries(Object.entries(query as object).map(([name, given]) => [name, valueOf(properties[name], given)]));
}

function valueOf(form: Form | undefined, given: unknown): unknown {
  if (form?.type === "array") return listOf(form, given);
  if (typeof given !== "string") return given;
  if (form?.type === "integer" && /^-?\d{1,15}$/.test(given)) return Number(given);
  if (form?.type === "boolean" && (given === "true" || given === "false")) return given === "true";
  return given;
}

/** May be repeated. Words from a fixed list may also come in one text, separated by commas; other texts may contain commas. */
function listOf({ items }: Form, given: unknown): unknown {
  const texts = Array.isArray(given) ? given : [given];
  return items?.enum === undefined ? texts : texts.flatMap((text) => (typeof text === "string" ? text.split(",") : [text]));
}
