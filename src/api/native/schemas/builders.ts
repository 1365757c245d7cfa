/** What the schemas of the native API are made of. They are all there is to say about its form: requests are checked by them, the
 * OpenAPI document is printed from them. */
import { Type, type TObject, type TProperties, type TSchema } from "typebox";
import { duration, text } from "#model/schema-builders.ts";

/** Under this keyword a schema has a name of its own in the OpenAPI document. */
export const nameKeyword = "x-schema-name";

/** An object that has these fields and no others. */
export function closed<Properties extends TProperties>(properties: Properties, description: string): TObject<Properties> {
  return Type.Object(properties, { additionalProperties: false, description });
}

/** As answered: later versions may add fields. */
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

export const containerName = text("One of the sandbox's containers; the first one when left out.", { minLength: 1, maxLength: 63 });

export const pageQuery = {
  limit: optional(Type.Integer({ minimum: 1, maximum: 1000, description: "How many at most; 100 when left out." })),
  cursor: optional(text("The next of the page before.", { minLength: 1, maxLength: 1024 })),
};

export const next = optional(
  text("Give it as cursor to get the next page; absent on the last one. A page may be short and still have one."),
);
