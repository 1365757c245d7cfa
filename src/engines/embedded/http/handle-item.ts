/** Requests for one object, or for the status or scale of one. */
import { type ObjectKey, type Scale, Scales, type JsonPatchOperation, type Patch } from "#kube/object-client.ts";
import { ApiError, ifFound } from "#kube/api-error.ts";
import type { ApiObject, Json } from "#model/meta.ts";
import { Pods } from "#model/pod.ts";
import type { ResourceType } from "#model/resource.ts";
import type { Answer, Call } from "./answer.ts";
import { badRequest, methodNotAllowed, versionTooLarge, unsupportedMediaType } from "./bad-request.ts";
import { deleteOptions, leastVersion, writeOptions } from "./query-options.ts";
import { readDeleteOptions } from "./read-delete-options.ts";
import { readObject, isJsonObject, kindOfJson, mediaType, parseBody, parseJson, readBody } from "./request-body.ts";
import type { Subresource } from "./routes.ts";
import { deletedStatus } from "./status.ts";
import type { IncomingMessage } from "node:http";

export interface Item {
  readonly type: ResourceType;
  readonly key: ObjectKey;
  readonly subresource: Subresource | undefined;
}

export async function handleItem(call: Call, item: Item): Promise<Answer> {
  switch (call.request.method ?? "") {
    case "GET":
      return await get(call, item);
    case "PUT":
      return await update(call, item);
    case "PATCH":
      return await patch(call, item);
    case "DELETE":
      if (item.subresource !== undefined) throw methodNotAllowed();
      return await remove(call, item);
    default:
      throw methodNotAllowed();
  }
}

async function get({ client, query, signal }: Call, { type, key, subresource }: Item): Promise<Answer> {
  const asked = leastVersion(query);
  if (asked > 0) {
    const { resourceVersion } = await client.list(type, { limit: 1, namespace: key.namespace, signal });
    if (asked > Number(resourceVersion)) throw versionTooLarge(asked, Number(resourceVersion));
  }
  if (subresource === "scale") return ok(await client.getScale(type, key, { signal }));
  return ok(await client.get(type, key, { signal }));
}

async function update(call: Call, { type, key, subresource }: Item): Promise<Answer> {
  const options = { ...writeOptions(call.query, "UpdateOptions"), signal: call.signal };
  if (subresource === "scale") {
    const scale = (await readObject(call.request, Scales, key.namespace)) as Scale;
    return ok(await call.client.updateScale(type, key, named(scale, key), options));
  }
  const object = named(await readObject(call.request, type, key.namespace), key);
  return ok(await call.client.update(type, object, { ...options, subresource }));
}

async function patch(call: Call, { type, key, subresource }: Item): Promise<Answer> {
  const options = { ...writeOptions(call.query, "PatchOptions"), signal: call.signal };
  const change = await readPatch(call.request);
  if (subresource === "scale") return ok(await call.client.patchScale(type, key, change, options));
  return ok(await call.client.patch(type, key, change, { ...options, subresource }));
}

async function remove(call: Call, { type, key }: Item): Promise<Answer> {
  // A body, where there is one, speaks alone: the two are not mixed.
  const options = (await readDeleteOptions(call.request)) ?? deleteOptions(call.query);
  const before = await find(call, type, key);
  await call.client.delete(type, key, { ...options, signal: call.signal });
  const left = options.dryRun === true ? undefined : await find(call, type, key);
  if (left !== undefined && left.metadata.uid === before?.metadata.uid) return ok(left);
  // An API server shows the pod that it removed, and of all other kinds only its name and uid.
  if (type.plural === Pods.plural && type.group === Pods.group && before !== undefined) return ok(before);
  return ok(deletedStatus(type, before?.metadata ?? { name: key.name }));
}

async function find(call: Call, type: ResourceType, key: ObjectKey): Promise<ApiObject | undefined> {
  return ifFound(call.client.get(type, key, { signal: call.signal }));
}

function named<T extends ApiObject>(object: T, key: ObjectKey): T {
  const given = object.metadata.name;
  if (given === key.name) return object;
  if (given === undefined || given === "") return { ...object, metadata: { ...object.metadata, name: key.name } };
  throw badRequest(`the name of the object (${given}) does not match the name on the URL (${key.name})`);
}

function ok(body: unknown): Answer {
  return { code: 200, body };
}

const jsonPatch = "application/json-patch+json";
const mergePatch = "application/merge-patch+json";

/** The patch that a request carries. What its operations do to the object is for the store to judge. */
async function readPatch(request: IncomingMessage): Promise<Patch> {
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
