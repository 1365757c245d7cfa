import { type OpenApiSchema, recordedKinds } from "./recorded-shapes.ts";

interface OpenApiDocument {
  readonly components: { readonly schemas: Readonly<Record<string, OpenApiSchema>> };
}

/** The schemas of the recorded kinds and of everything that they refer to. `read` gets a document of the server by its path. */
export async function schemasOfServer(read: (path: string) => Promise<unknown>): Promise<Readonly<Record<string, OpenApiSchema>>> {
  const found = new Map<string, OpenApiSchema>();
  for (const [path, kinds] of Object.entries(recordedKinds)) {
    const { schemas } = ((await read(`/openapi/v3/${path}`)) as OpenApiDocument).components;
    for (const kind of kinds) collect(kind, schemas, found);
  }
  return Object.fromEntries([...found].toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

function collect(name: string, schemas: Readonly<Record<string, OpenApiSchema>>, found: Map<string, OpenApiSchema>): void {
  const schema = schemas[name];
  if (schema === undefined) throw new Error(`the server's OpenAPI has no schema ${name}`);
  if (found.has(name)) return;
  found.set(name, trimmed(schema));
  for (const reference of referencesIn(schema)) collect(reference, schemas, found);
}

const kept = [
  "type",
  "format",
  "properties",
  "required",
  "items",
  "additionalProperties",
  "allOf",
  "oneOf",
  "$ref",
  "enum",
  "default",
] as const;

/** Without descriptions, which are three quarters of a document, and extensions for other clients. */
function trimmed(schema: OpenApiSchema): OpenApiSchema {
  return Object.fromEntries(kept.filter((key) => schema[key] !== undefined).map((key) => [key, trimmedValue(key, schema[key])]));
}

function trimmedValue(key: (typeof kept)[number], value: unknown): unknown {
  switch (key) {
    case "properties":
      return Object.fromEntries(
        Object.entries(value as Record<string, OpenApiSchema>)
          .toSorted(([left], [right]) => (left < right ? -1 : 1))
          .map(([name, one]) => [name, trimmed(one)]),
      );
    case "items":
    case "additionalProperties":
      return trimmed(value as OpenApiSchema);
    case "allOf":
    case "oneOf":
      return (value as readonly OpenApiSchema[]).map(trimmed);
    default:
      return value;
  }
}

function referencesIn(schema: OpenApiSchema): readonly string[] {
  const parts = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.allOf ?? []),
    ...[schema.items, schema.additionalProperties].filter((one) => one !== undefined),
  ];
  return [...(schema.$ref === undefined ? [] : [referenceName(schema.$ref)]), ...parts.flatMap(referencesIn)];
}

export function referenceName(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}
