/** The native API as an OpenAPI 3.1 document, printed from the definitions of its routes (route.ts). Pure. */
import type { TObject, TSchema } from "typebox";
import { type ErrorCode, errorCodes } from "#model/error-codes.ts";
import { errorTitle, httpStatus } from "../http/status.ts";
import { openApiSchemas, type PrintedSchema, type SchemaPrinter } from "./openapi-schemas.ts";
import { apiBase } from "./register-routes.ts";
import { type Answer, commonErrors, type Route } from "./route.ts";
import { problemSchema } from "./schemas/about.ts";

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: Readonly<Record<string, unknown>>;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, PrintedSchema>>; readonly [part: string]: unknown };
  readonly [part: string]: unknown;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly object[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, object>>;
  readonly security: readonly object[];
}

/** Any one of these headers is enough. */
const securitySchemes = {
  apiKey: { type: "apiKey", in: "header", name: "X-API-Key", description: "e2b_ and 40 hex digits." },
  agentboxKey: { type: "apiKey", in: "header", name: "AGENTBOX-API-KEY", description: "The same key." },
  bearer: { type: "http", scheme: "bearer", description: "The same key." },
} as const;
const withKey = Object.keys(securitySchemes).map((name) => ({ [name]: [] }));

const about =
  "Isolated sandboxes for AI agents, from warm pools. Objects of other tenants look as if they did not exist. Every error is a " +
  "problem (RFC 9457) with a code from a fixed list.";

export function openApiDocument(routes: readonly Route[]): OpenApiDocument {
  const printer = openApiSchemas();
  const problems = new Problems(printer);
  const paths: Record<string, Record<string, Operation>> = {};
  for (const one of routes) {
    const path = `${apiBase}${one.path}`;
    paths[path] = { ...paths[path], [one.method.toLowerCase()]: operationOf(one, printer, problems) };
  }
  const tags = [...new Set(routes.map(tagOf))].map((name) => ({ name }));
  return {
    openapi: "3.1.0",
    info: { title: "AgentBox", version: "1", description: about, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    servers: [{ url: "/", description: "The server that sent this document." }],
    tags,
    paths,
    components: { schemas: printer.named(), responses: problems.named(), securitySchemes },
  };
}

function operationOf(one: Route, printer: SchemaPrinter, problems: Problems): Operation {
  const { name, summary, description, params, query, headers, body, bytes } = one;
  const parameters = [...fieldsOf(params, "path", printer), ...fieldsOf(query, "query", printer), ...fieldsOf(headers, "header", printer)];
  return {
    operationId: name,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [tagOf(one)],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: requestBody(body, printer) }),
    ...(bytes === undefined ? {} : { requestBody: bytesBody }),
    responses: { ...answersOf(one, printer), ...problems.of(one) },
    security: one.public === true ? [] : withKey,
  };
}

function tagOf({ path }: Route): string {
  return path.split("/")[1] ?? "";
}

/** Each property of the schema is a parameter of its own. */
function fieldsOf(schema: TObject | undefined, place: "path" | "query" | "header", printer: SchemaPrinter): readonly object[] {
  const { properties = {}, required = [] } = (schema ?? {}) as { properties?: Record<string, TSchema>; required?: readonly string[] };
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...form } = printer.print(property);
    return {
      name,
      in: place,
      required: place === "path" || required.includes(name),
      ...(description ? { description } : {}),
      schema: form,
    };
  });
}

function requestBody(body: TSchema, printer: SchemaPrinter): object {
  const { required = [] } = body as { readonly required?: readonly string[] };
  return { required: required.length > 0, content: { "application/json": { schema: printer.print(body) } } };
}

const bytesBody = { required: true, content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } } };

function answersOf({ answers }: Route, printer: SchemaPrinter): Readonly<Record<string, object>> {
  return Object.fromEntries(answers.map((answer) => [String(answer.status), responseOf(answer, printer)]));
}

function responseOf({ description, schema, contentType = "application/json" }: Answer, printer: SchemaPrinter): object {
  if (schema === undefined) return { description };
  return { description, content: { [contentType]: { schema: printer.print(schema) } } };
}

const retryAfter = { "Retry-After": { description: "Seconds to wait before the next attempt.", schema: { type: "integer" } } };
const retried: ReadonlySet<number> = new Set([409, 429, 503]);

/** Error answers: one per status, named after the codes that it may have. Routes that fail alike share them. */
class Problems {
  readonly #printer: SchemaPrinter;
  readonly #printed = new Map<string, object>();

  constructor(printer: SchemaPrinter) {
    this.#printer = printer;
  }

  of({ errors, public: isPublic = false }: Route): Readonly<Record<string, object>> {
    const possible = new Set([...commonErrors, ...errors]);
    // Rate limits are per key.
    const codes = errorCodes.filter((code) => possible.has(code) && !(isPublic && code === "rate_limited"));
    const byStatus = [...Map.groupBy(codes, (code) => httpStatus[code])].sort(([left], [right]) => left - right);
    return Object.fromEntries(byStatus.map(([status, ofStatus]) => [String(status), this.#response(status, ofStatus)]));
  }

  named(): Readonly<Record<string, object>> {
    return Object.fromEntries([...this.#printed].sort(([left], [right]) => (left < right ? -1 : 1)));
  }

  #response(status: number, codes: readonly ErrorCode[]): object {
    const name = codes.map(titled).join("Or");
    const description = codes.map((code) => `${code}: ${errorTitle[code]}.`).join(" ");
    const content = { "application/problem+json": { schema: this.#printer.print(problemSchema) } };
    this.#printed.set(name, { description, ...(retried.has(status) ? { headers: retryAfter } : {}), content });
    return { $ref: `#/components/responses/${name}` };
  }
}

function titled(code: ErrorCode): string {
  return code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
