/** Checks one part of a request by its schema, and says what is wrong with it and where. */
import type { TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { ServiceError } from "#services/service-error.ts";
import { queryValues } from "./query-values.ts";

type Checked = { readonly value: unknown } | { readonly error: ServiceError };
type Complaint = ReturnType<Validator["Errors"]>[number];

/** `part` is Fastify's word for where it stands: body, querystring, params or headers. */
export function requestValidator(schema: TSchema, part: string): (data: unknown) => Checked {
  const validator = Compile(schema);
  return (data) => {
    const value = part === "querystring" ? queryValues(schema, data) : part === "body" ? bodyValue(schema, data) : data;
    if (part === "body" && value === null)
      return { error: new ServiceError("invalid_request", "body: is required, as JSON", { field: "body" }) };
    return validator.Check(value) ? { value } : { error: invalid(part, validator.Errors(value)) };
  };
}

/** No body is an empty one where nothing in it is needed. */
function bodyValue(schema: TSchema, data: unknown): unknown {
  const { required = [] } = schema as { readonly required?: readonly string[] };
  return data === null && required.length === 0 ? {} : data;
}

const prefixes: Readonly<Record<string, string>> = { querystring: "query", params: "path", headers: "header" };

function invalid(part: string, complaints: readonly Complaint[]): ServiceError {
  // A field that is not known is complained about twice, and the second complaint says more; but there is an end to complaints.
  const found = complaints.filter(({ keyword }) => keyword !== "boolean");
  const { path, text } = chosen(found.length === 0 ? complaints : found);
  const prefix = prefixes[part];
  const whole = [...(prefix === undefined ? [] : [prefix]), ...path];
  const field = whole.length === 0 ? "body" : whole.map((name) => (name === "" ? '""' : name)).join(".");
  return new ServiceError("invalid_request", `${field}: ${text}`, { field });
}

interface Chosen {
  readonly path: readonly string[];
  readonly text: string;
}

/** The first complaint; of several forms of which none fits, that about the form which was most likely meant. */
function chosen(complaints: readonly Complaint[]): Chosen {
  const [first] = complaints;
  if (first === undefined) return { path: [], text: "is not valid" };
  const choice = complaints.find(({ keyword, schemaPath }) => keyword === "anyOf" && first.schemaPath.startsWith(`${schemaPath}/anyOf/`));
  if (choice === undefined) return { path: pathOf(first), text: textOf(first) };
  const ofForms = complaints.filter(({ schemaPath }) => schemaPath.startsWith(`${choice.schemaPath}/anyOf/`));
  // Who wrote something inside of a form meant this form.
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

/** A field that the complaint is about, inside of where it stands. */
function namedIn(complaint: Complaint): string | undefined {
  if (complaint.keyword === "required") return complaint.params.requiredProperties[0];
  return complaint.keyword === "additionalProperties" ? complaint.params.additionalProperties[0] : undefined;
}

function textOf(complaint: Complaint): string {
  if (complaint.keyword === "required") return "is required";
  if (complaint.keyword === "additionalProperties" || complaint.keyword === "boolean") return "is not known here";
  if (complaint.keyword === "enum") return `must be one of ${complaint.params.allowedValues.join(", ")}`;
  return complaint.message;
}

function formText(complaint: Complaint): string {
  const named = namedIn(complaint);
  return named === undefined ? textOf(complaint) : `${named} ${textOf(complaint)}`;
}
