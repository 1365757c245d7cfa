import { withoutUndefined } from "#lib/without-undefined.ts";
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

/** Without descriptions, which are three quarters of a document, and extensions for other clients. */
function trimmed({ type, format, properties, required, items, additionalProperties, ...rest }: OpenApiSchema): OpenApiSchema {
  return withoutUndefined({
    type,
    format,
    properties: properties && sorted(properties),
    required,
    items: items && trimmed(items),
    additionalProperties: additionalProperties && trimmed(additionalProperties),
    allOf: rest.allOf?.map(trimmed),
    oneOf: rest.oneOf?.map(trimmed),
    $ref: rest.$ref,
    enum: rest.enum,
    default: rest.default,
  });
}

function sorted(properties: Readonly<Record<string, OpenApiSchema>>): Readonly<Record<string, OpenApiSchema>> {
  const entries = Object.entries(properties).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([name, schema]) => [name, trimmed(schema)]));
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
