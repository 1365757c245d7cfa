/**
 * Reads objects from files. find-files.ts handles `-f`, parse-documents.ts the content of a file; this file turns documents into objects of known kinds
 * with their namespaces. An invalid document becomes an error in its place, so that the others can continue.
 */
import { resourceTypeOf } from "#model/kinds.ts";
import type { ApiObject, Json, JsonObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../failure.ts";
import { readManifestFiles } from "./find-files.ts";
import { parseDocuments } from "./parse-documents.ts";

export interface Manifest {
  /** Name of the file in messages. */
  readonly source: string;
  readonly type: ResourceType;
  readonly object: ApiObject;
  readonly name: string;
  readonly namespace: string | undefined;
}

export interface ManifestRequest {
  readonly paths: readonly string[];
  readonly recursive: boolean;
  /** The value of `-n`: objects with another namespace are refused. */
  readonly namespace: string | undefined;
}

export async function readManifests(context: CliContext, request: ManifestRequest): Promise<readonly (Manifest | CliError)[]> {
  const files = await readManifestFiles(context, request.paths, request.recursive);
  return files.flatMap(parseDocuments).flatMap((document) => {
    if ("error" in document) return [document.error];
    return flatten(document.value).map((value) => {
      try {
        return manifestOf(document.source, value, request.namespace);
      } catch (error) {
        if (error instanceof CliError) return error;
        throw error;
      }
    });
  });
}

/** A List is replaced by its items. */
function flatten(value: Json): readonly Json[] {
  if (!isObject(value)) return [value];
  const { kind, items } = value;
  return typeof kind === "string" && kind.endsWith("List") && Array.isArray(items) ? items.flatMap(flatten) : [value];
}

function manifestOf(source: string, value: Json, wanted: string | undefined): Manifest {
  const object = typedObject(source, value);
  const metadata = isObject(object["metadata"]) ? object["metadata"] : {};
  const { apiVersion, kind } = object as { apiVersion: string; kind: string };
  const name = textOf(source, metadata, "name");
  const given = textOf(source, metadata, "namespace");
  const type = resourceTypeOf(apiVersion, kind);
  if (type === undefined) throw unknownKind(source, { apiVersion, kind, name, namespace: given });
  const namespace = type.namespaced ? namespaceOf(given, wanted) : undefined;
  const placed = namespace === undefined ? metadata : { ...metadata, namespace };
  // The server validates its content; from here on it is an object like any other.
  return { source, type, object: { ...object, metadata: placed }, name, namespace };
}

function typedObject(source: string, value: Json): JsonObject {
  if (!isObject(value)) throw invalidData(source, "invalid object to validate");
  const problems = ["apiVersion", "kind"].flatMap((field) => {
    const given = value[field];
    if (given === undefined || given === null || given === "") return [`${field} not set`];
    return typeof given === "string" ? [] : [`${field} isn't string type`];
  });
  if (problems.length > 0) throw invalidData(source, problems.length === 1 ? (problems[0] ?? "") : `[${problems.join(", ")}]`);
  return value;
}

/** Empty if it is missing. In YAML, a name such as `no` or `1` is not text unless it is quoted. */
function textOf(source: string, metadata: JsonObject, field: string): string {
  const value = metadata[field] ?? "";
  if (typeof value === "string") return value;
  const shown = JSON.stringify(value);
  throw new CliError(
    `unable to decode ${JSON.stringify(source)}: metadata.${field} must be a string, not ${shown}: put it in quotes if it is one`,
  );
}

function namespaceOf(given: string, wanted: string | undefined): string {
  if (given === "") return wanted ?? "default";
  if (wanted === undefined || wanted === given) return given;
  throw new CliError(
    `the namespace from the provided object ${JSON.stringify(given)} does not match the namespace ${JSON.stringify(wanted)}. ` +
      `You must pass '--namespace=${given}' to perform this operation.`,
  );
}

function invalidData(source: string, why: string): CliError {
  return new CliError(
    `error validating ${JSON.stringify(source)}: error validating data: ${why}; ` +
      "if you choose to ignore these errors, turn validation off with --validate=false",
  );
}

function unknownKind(source: string, { apiVersion, kind, name, namespace }: Readonly<Record<string, string>>): CliError {
  return new CliError(
    `resource mapping not found for name: ${JSON.stringify(name)} namespace: ${JSON.stringify(namespace)} from ${JSON.stringify(source)}: ` +
      `no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`,
  );
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
