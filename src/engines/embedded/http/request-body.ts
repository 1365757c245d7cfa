/** What a request carries: read with a limit, parsed, and checked to be what its path speaks of. */
import type { IncomingMessage } from "node:http";
import { ApiError } from "#kube/api-error.ts";
import { isTooDeep, maxJsonDepth } from "#lib/json-depth.ts";
import type { ApiObject, Json, JsonObject } from "#model/meta.ts";
import { apiVersionOf, type ResourceType } from "#model/resource.ts";
import { badRequest, unsupportedMediaType } from "./bad-request.ts";

/** As much as a kube-apiserver takes. */
export const maxBodyBytes = 3 * 1024 * 1024;

/** The media type without its parameters; empty when there is none. */
export function mediaType(request: IncomingMessage): string {
  return (request.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

export async function readBody(request: IncomingMessage): Promise<string> {
  if (Number(request.headers["content-length"] ?? 0) > maxBodyBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBodyBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** An object of `type` out of a request, for the place that its path names. */
export async function readObject(request: IncomingMessage, type: ResourceType, namespace: string | undefined): Promise<ApiObject> {
  const given = mediaType(request);
  if (given !== "" && given !== "application/json") throw unsupportedMediaType(["application/json"]);
  const text = await readBody(request);
  const body = parseBody(text, (why) => `the object provided is unrecognized (must be of type ${type.kind}): ${why} (${excerpt(text)})`);
  const typed = withType(body, type, text);
  const metadata = isJsonObject(typed["metadata"]) ? typed["metadata"] : {};
  // Wire JSON becomes an ApiObject here; whether its fields have the right types is for the kind's rules to say.
  return { ...typed, metadata: inNamespace(metadata, namespace) };
}

/** Parses a body that must be a JSON object; `complain` puts the parser's words, with the position, into a sentence. */
export function parseBody(text: string, complain: (why: string) => string): JsonObject {
  const value = parseJson(text, complain);
  if (!isJsonObject(value)) throw badRequest(complain(`json parse error: want an object, not ${kindOfJson(value)}`));
  return value;
}

export function parseJson(text: string, complain: (why: string) => string): Json {
  const value = parsed(text, complain);
  if (isTooDeep(value)) throw badRequest(complain(`it is nested more than ${maxJsonDepth} levels deep, which is the most that is taken`));
  return value;
}

function parsed(text: string, complain: (why: string) => string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    const why = (error as SyntaxError).message;
    const where = why.includes("position") ? "" : ` at position ${text.length}`;
    throw badRequest(complain(`json parse error: ${why}${where}`));
  }
}

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function kindOfJson(value: Json): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

function withType(body: JsonObject, type: ResourceType, text: string): JsonObject {
  const apiVersion = apiVersionOf(type);
  const given = { apiVersion: body["apiVersion"], kind: body["kind"] };
  if (given.kind === undefined || given.apiVersion === undefined) {
    // Kinds that are compiled into an API server may leave out what the path says already; custom ones may not.
    if (isBuiltIn(type)) return { ...body, apiVersion, kind: type.kind };
    const missing = given.kind === undefined ? "Kind" : "apiVersion";
    throw badRequest(
      `the object provided is unrecognized (must be of type ${type.kind}): Object '${missing}' is missing (${excerpt(text)})`,
    );
  }
  if (given.apiVersion !== apiVersion) {
    throw badRequest(`the API version in the data (${asText(given.apiVersion)}) does not match the expected API version (${apiVersion})`);
  }
  if (given.kind !== type.kind) throw wrongKind(body, type);
  return body;
}

function wrongKind(body: JsonObject, type: ResourceType): ApiError {
  const kind = asText(body["kind"]);
  if (isBuiltIn(type)) return badRequest(`${type.kind} in version ${JSON.stringify(type.version)} cannot be handled as a ${kind}`);
  const metadata = isJsonObject(body["metadata"]) ? body["metadata"] : {};
  const name = asText(metadata["name"]);
  const cause = { field: "kind", reason: "FieldValueInvalid", message: `Invalid value: ${JSON.stringify(kind)}: must be ${type.kind}` };
  const message = `${kind}.${type.group} ${JSON.stringify(name)} is invalid: kind: ${cause.message}`;
  return new ApiError("Invalid", message, { group: type.group, kind, name, causes: [cause] });
}

function inNamespace(metadata: JsonObject, namespace: string | undefined): JsonObject {
  const given = metadata["namespace"];
  if (namespace === undefined) return metadata;
  if (given === undefined || given === "") return { ...metadata, namespace };
  if (given === namespace) return metadata;
  throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
}

function isBuiltIn(type: ResourceType): boolean {
  return !type.group.includes(".") || type.group.endsWith(".k8s.io");
}

function excerpt(text: string): string {
  if (text === "") return "<empty>";
  return text.length > 32 ? `${text.slice(0, 32)} ...` : text;
}

function asText(value: Json | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}

function tooLarge(): ApiError {
  return new ApiError("RequestEntityTooLarge", `the request body is larger than ${maxBodyBytes} bytes, the most that is taken`);
}
