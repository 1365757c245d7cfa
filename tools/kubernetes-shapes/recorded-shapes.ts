/**
 * What the API server says of the kinds that the embedded store serves, as it is recorded in `openapi.json`, and what is made of it:
 *
 * - `recorded-shapes.ts` (this file) the record, and how it is read and written,
 * - `from-server.ts` takes it from the OpenAPI documents of a running server, `from-go.ts` what those documents leave out,
 * - `shape-model.ts` the record as kinds of fields, `print-types.ts` and `print-fields.ts` the two generated files.
 *
 * `make kubernetes-shapes` records it again, for a new version of Kubernetes. `make generate` writes the generated files.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** One schema of an OpenAPI v3 document, without descriptions and extensions. */
export interface OpenApiSchema {
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly required?: readonly string[];
  readonly items?: OpenApiSchema;
  readonly additionalProperties?: OpenApiSchema;
  readonly allOf?: readonly OpenApiSchema[];
  readonly oneOf?: readonly OpenApiSchema[];
  readonly $ref?: string;
  readonly enum?: readonly string[];
  readonly default?: unknown;
}

/**
 * How the server writes the fields of a type. OpenAPI does not say it, and the answers depend on it: an empty text in a pointer is
 * kept, one in a plain field is left out, unless the field is always written.
 */
export interface GoFields {
  readonly pointers?: readonly string[];
  readonly always?: readonly string[];
}

export interface RecordedShapes {
  /** The version of the server. */
  readonly kubernetes: string;
  /** By their names in the documents, such as `io.k8s.api.core.v1.Pod`. */
  readonly schemas: Readonly<Record<string, OpenApiSchema>>;
  readonly go: Readonly<Record<string, GoFields>>;
}

/** The kinds that the embedded store serves beside our own, and the document that each one is in. */
export const recordedKinds: Readonly<Record<string, readonly string[]>> = {
  "api/v1": ["Pod", "Namespace", "Secret", "ConfigMap", "Event"].map((kind) => `io.k8s.api.core.v1.${kind}`),
  "apis/coordination.k8s.io/v1": ["io.k8s.api.coordination.v1.Lease"],
};

export const recordFile: string = fileURLToPath(new URL("openapi.json", import.meta.url));

export function readRecord(): RecordedShapes {
  return JSON.parse(readFileSync(recordFile, "utf8")) as RecordedShapes;
}

/** One line for each type, so that a new version of Kubernetes reads as a list of types that changed. */
export function recordText({ kubernetes, schemas, go }: RecordedShapes): string {
  return `{\n  "kubernetes": ${JSON.stringify(kubernetes)},\n  "schemas": {\n${lines(schemas)}\n  },\n  "go": {\n${lines(go)}\n  }\n}\n`;
}

function lines(entries: Readonly<Record<string, unknown>>): string {
  return Object.entries(entries)
    .map(([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(",\n");
}
