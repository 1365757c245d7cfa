/** Requests for one object, or for the status or scale of one. */
import { type ObjectKey, type Scale, Scales } from "#kube/object-client.ts";
import { isApiError } from "#kube/api-error.ts";
import type { ApiObject } from "#model/meta.ts";
import { Pods } from "#model/pod.ts";
import type { ResourceType } from "#model/resource.ts";
import type { Answer, Call } from "./answer.ts";
import { badRequest, methodNotAllowed, versionTooLarge } from "./bad-request.ts";
import { deleteOptions, leastVersion, writeOptions } from "./query-options.ts";
import { readDeleteOptions } from "./read-delete-options.ts";
import { readPatch } from "./read-patch.ts";
import { readObject } from "./request-body.ts";
import type { Subresource } from "./routes.ts";
import { deletedStatus } from "./status.ts";

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
  // An API server shows the pod that it removed, and of all other kinds only who it was.
  if (type.plural === Pods.plural && type.group === Pods.group && before !== undefined) return ok(before);
  return ok(deletedStatus(type, before?.metadata ?? { name: key.name }));
}

async function find(call: Call, type: ResourceType, key: ObjectKey): Promise<ApiObject | undefined> {
  try {
    return await call.client.get(type, key, { signal: call.signal });
  } catch (error) {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  }
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
