/** The operations of an OpenAPI document of ours, as the printers of both languages need them. Pure. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

export type AnswerKind =
  | { readonly kind: "json"; readonly schema: Schema }
  | { readonly kind: "none" }
  | { readonly kind: "bytes" }
  /** Read as it comes: events, lines. */
  | { readonly kind: "stream" };

export interface ApiOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly about: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly body?: { readonly required: boolean; readonly schema: Schema; readonly isBytes: boolean };
  readonly answer: AnswerKind;
}

export interface ApiModel {
  readonly schemas: ReadonlyMap<string, Schema>;
  readonly operations: readonly ApiOperation[];
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface DocumentOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

/** What the printers do not know is an error: a shape that they would print wrongly must not pass. */
export function apiModel(document: unknown): ApiModel {
  const { paths, components } = document as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>;
    readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => operationOf(method.toUpperCase(), path, operation)),
  );
  const schemas = new Map(Object.entries(components.schemas));
  for (const [name, schema] of schemas) checkSchema(schema, name);
  return { schemas, operations };
}

/** WebSockets are left out: no request and answer describes them, and the hand-made part of a SDK speaks them. */
function operationOf(method: string, path: string, operation: DocumentOperation): readonly ApiOperation[] {
  const { operationId: id, summary, description, parameters = [], requestBody, responses } = operation;
  if ("101" in responses) return [];
  const names = [...parameters.map(({ name }) => argumentName(name)), ...(requestBody === undefined ? [] : ["body"])];
  if (new Set(names).size < names.length) throw new Error(`${id}: two of its arguments have one name: ${names.join(", ")}`);
  for (const { name, schema } of parameters) checkSchema(schema, `${id}.${name}`);
  const [sent] = Object.entries(requestBody?.content ?? {});
  return [
    {
      id,
      method,
      path,
      about: [summary, ...(description === undefined ? [] : [description])],
      parameters,
      ...(sent !== undefined && {
        body: { required: requestBody?.required === true, schema: sent[1].schema, isBytes: sent[0] === "application/octet-stream" },
      }),
      answer: answerOf(id, responses),
    },
  ];
}

function answerOf(id: string, responses: DocumentOperation["responses"]): AnswerKind {
  const contents = Object.entries(responses).flatMap(([status, { content }]) =>
    status.startsWith("2") && content !== undefined ? Object.entries(content) : [],
  );
  const [first] = contents;
  if (first === undefined) return { kind: "none" };
  const shapes = new Set(contents.map((content) => JSON.stringify(content)));
  if (shapes.size > 1) throw new Error(`${id} has answers of several shapes: say which one a SDK should return`);
  const [type, { schema }] = first;
  checkSchema(schema, `${id}.answer`);
  if (type === "application/json") return { kind: "json", schema };
  return { kind: type === "application/octet-stream" ? "bytes" : "stream" };
}

const known = new Set(["string", "integer", "number", "boolean", "object", "array", undefined]);

function checkSchema(schema: Schema, place: string): void {
  const unknown = ["allOf", "oneOf", "not", "prefixItems"].find((word) => word in schema);
  if (unknown !== undefined) throw new Error(`${place}: the SDKs cannot print ${unknown}`);
  if (!known.has(schema.type) && schema.type !== "null") throw new Error(`${place}: the SDKs cannot print the type ${schema.type}`);
  for (const [name, property] of Object.entries(schema.properties ?? {})) checkSchema(property, `${place}.${name}`);
  for (const choice of schema.anyOf ?? []) checkSchema(choice, place);
  if (schema.items !== undefined) checkSchema(schema.items, `${place}[]`);
  if (typeof schema.additionalProperties === "object") checkSchema(schema.additionalProperties, `${place}.*`);
}

/** The values of an object whose keys are free; undefined if its keys are all known. */
export function freeValues({ properties, patternProperties, additionalProperties }: Schema): Schema | undefined {
  const [pattern] = Object.values(patternProperties ?? {});
  if (pattern !== undefined) return pattern;
  if (typeof additionalProperties === "object") return additionalProperties;
  return properties === undefined ? {} : undefined;
}

export function refName({ $ref = "" }: Schema): string {
  return $ref.replace("#/components/schemas/", "");
}

/** `idempotency-key` is `idempotencyKey`. */
export function argumentName(name: string): string {
  return name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
