import type { IncomingMessage } from "node:http";
import { ApiError } from "#kube/api-error.ts";
import type { JsonPatchOperation, Patch } from "#kube/object-client.ts";
import type { Json } from "#model/meta.ts";
import { badRequest, unsupportedMediaType } from "./bad-request.ts";
import { isJsonObject, kindOfJson, mediaType, parseBody, parseJson, readBody } from "./request-body.ts";

const jsonPatch = "application/json-patch+json";
const mergePatch = "application/merge-patch+json";

/** The patch that a request carries. What its operations do to the object is for the store to judge. */
export async function readPatch(request: IncomingMessage): Promise<Patch> {
  const given = mediaType(request);
  if (given !== jsonPatch && given !== mergePatch) throw unsupportedMediaType([jsonPatch, mergePatch]);
  const text = await readBody(request);
  if (given === mergePatch) return { type: "merge", body: parseBody(text, undecodable) };
  const operations = parseJson(text, undecodable);
  if (!Array.isArray(operations)) throw badRequest(undecodable(`want an array of operations, not ${kindOfJson(operations)}`));
  return { type: "json", operations: operations.map(readOperation) };
}

function readOperation(operation: Json, index: number): JsonPatchOperation {
  if (!isJsonObject(operation)) throw badRequest(undecodable(`operation ${index} is ${kindOfJson(operation)}`));
  const { op, path, from, value } = operation;
  if (typeof path !== "string") throw rejected(index, "it has no path");
  if (op === "add" || op === "replace" || op === "test") return { op, path, value: value ?? null };
  if (op === "remove") return { op, path };
  if (op !== "move" && op !== "copy") {
    throw rejected(index, `its op must be add, replace, test, remove, move or copy, not ${JSON.stringify(op)}`);
  }
  if (typeof from !== "string") throw rejected(index, `${op} needs a from`);
  return { op, path, from };
}

function undecodable(why: string): string {
  return `error decoding patch: ${why}`;
}

/** An API server calls a patch Invalid that is well-formed JSON but no JSON patch; it does not say why, we do. */
function rejected(index: number, why: string): ApiError {
  return new ApiError("Invalid", `the server rejected our request due to an error in our request: operation ${index}: ${why}`);
}
