/** The schemas of the API as OpenAPI needs them: named schemas are printed once, as components. Pure. */
import { nameKeyword } from "./schemas/builders.ts";

export interface PrintedSchema {
  readonly description?: string;
  readonly $ref?: string;
  readonly [keyword: string]: unknown;
}

export interface SchemaPrinter {
  /** The schema, or a reference to it. */
  print(schema: unknown): PrintedSchema;
  /** All named schemas printed so far, by name. */
  named(): Readonly<Record<string, PrintedSchema>>;
}

/** Keywords that map names to schemas; below them, a key that looks like a keyword is a field name. */
const maps: ReadonlySet<string> = new Set(["properties", "patternProperties"]);
const anyName = "^.*$";

/** Throws when two different schemas have the same name. */
export function openApiSchemas(): SchemaPrinter {
  const printed = new Map<string, PrintedSchema>();

  function print(schema: unknown): PrintedSchema {
    const { [nameKeyword]: name, ...form } = schema as Readonly<Record<string, unknown>>;
    if (typeof name !== "string") return printForm(form);
    const known = printed.get(name);
    const whole = printForm(form);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(whole)) throw new Error(`two schemas are called ${name}`);
    printed.set(name, whole);
    return { $ref: `#/components/schemas/${name}` };
  }

  function printForm(form: Readonly<Record<string, unknown>>): PrintedSchema {
    const entries = Object.entries(form)
      // Only meaningful to a Kubernetes API server.
      .filter(([keyword]) => !keyword.startsWith("x-kubernetes-"))
      .map(([keyword, value]) => [keyword, printValue(keyword, value)] as const);
    return withAdditional(Object.fromEntries(entries));
  }

  function printValue(keyword: string, value: unknown): unknown {
    if (maps.has(keyword)) return Object.fromEntries(Object.entries(value as object).map(([name, inner]) => [name, print(inner)]));
    if (Array.isArray(value)) return value.map((item: unknown) => (isSchema(item) ? print(item) : item));
    return (keyword === "items" || keyword === "additionalProperties") && isSchema(value) ? print(value) : value;
  }

  const named = (): Readonly<Record<string, PrintedSchema>> =>
    Object.fromEntries([...printed].sort(([left], [right]) => (left < right ? -1 : 1)));
  return { print, named };
}

function isSchema(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A map with arbitrary keys, in the form that most client generators understand. */
function withAdditional(form: Readonly<Record<string, unknown>>): PrintedSchema {
  const { patternProperties, ...rest } = form;
  const patterns = Object.entries((patternProperties ?? {}) as Readonly<Record<string, unknown>>);
  const [first] = patterns;
  if (patterns.length === 1 && first?.[0] === anyName) return { ...rest, additionalProperties: first[1] };
  return form;
}
