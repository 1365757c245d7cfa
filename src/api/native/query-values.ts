/** The texts of a query as the values that its schema is about. What is none of them stays as it is, for the check to refuse. Pure. */
import type { TSchema } from "typebox";

interface Form {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Form>>;
  readonly items?: { readonly enum?: readonly unknown[] };
}

export function queryValues(schema: TSchema, query: unknown): Readonly<Record<string, unknown>> {
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

/** May be given several times. Words out of a closed list may also stand in one text, with commas; other texts may have commas inside. */
function listOf({ items }: Form, given: unknown): unknown {
  const texts = Array.isArray(given) ? given : [given];
  return items?.enum === undefined ? texts : texts.flatMap((text) => (typeof text === "string" ? text.split(",") : [text]));
}
