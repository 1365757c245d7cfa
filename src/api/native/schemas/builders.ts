/**
 * Building blocks for the schemas of the native API. The schemas are the only definition: requests are checked against them, and the OpenAPI document is
 * printed from them.
 */
import { Type, type TObject, type TProperties, type TSchema } from "typebox";
import { duration, text } from "#model/schema-builders.ts";

/** Schemas with this keyword become named components of the OpenAPI document. */
export const nameKeyword = "x-schema-name";

/** An object that has these fields and no others. */
export function closed<Properties extends TProperties>(properties: Properties, description: string): TObject<Properties> {
  return Type.Object(properties, { additionalProperties: false, description });
}

/** For answers: later versions may add fields. */
export function open<Properties extends TProperties>(properties: Properties, description: string): TObject<Properties> {
  return Type.Object(properties, { description });
}

export function named<Schema extends TSchema>(name: string, schema: Schema): Schema {
  return { ...schema, [nameKeyword]: name };
}

export const optional = Type.Optional;

export function texts(description: string) {
  return Type.Record(Type.String(), Type.String(), { description });
}

export function time(description: string) {
  return text(`${description} RFC 3339, such as 2026-01-31T12:00:00Z.`, { format: "date-time", maxLength: 64 });
}

export function span(description: string) {
  return duration(`${description} Such as 90s, 30m or 1h30m.`);
}

export const containerName = text("Name of a container of the sandbox; the first container when left out.", {
  minLength: 1,
  maxLength: 63,
});

export const pageQuery = {
  limit: optional(Type.Integer({ minimum: 1, maximum: 1000, description: "Maximum number of results; 100 when left out." })),
  cursor: optional(text("Value of next from the previous page.", { minLength: 1, maxLength: 1024 })),
};

export const next = optional(text("Cursor of the next page; absent on the last page. A page with few results may still have a next page."));
