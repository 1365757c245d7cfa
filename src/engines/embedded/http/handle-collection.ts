/** Requests for all objects of a kind: list, watch, create. */
import { type ResourceType, apiVersionOf } from "#model/resource.ts";
import { type Answer, type Call, writable } from "./answer.ts";
import { badRequest, methodNotAllowed, versionTooLarge } from "./bad-request.ts";
import { leastVersion, listOptions, wantsWatch, watchOptions, writeOptions } from "./query-options.ts";
import { readObject } from "./request-body.ts";
import { watchAnswer } from "./stream-watch.ts";
import type { ServerResponse } from "node:http";
import type { ObjectList } from "#kube/object-client.ts";
import type { ApiObject } from "#model/meta.ts";

export async function handleCollection(call: Call, type: ResourceType, namespace: string | undefined): Promise<Answer> {
  switch (call.request.method ?? "") {
    case "GET":
      return wantsWatch(call.query) ? await watch(call, type, namespace) : await list(call, type, namespace);
    case "POST":
      return await create(call, type, namespace);
    default:
      throw methodNotAllowed();
  }
}

async function list(call: Call, type: ResourceType, namespace: string | undefined): Promise<Answer> {
  const options = listOptions(call.query);
  const found = await call.client.list(type, { ...options, namespace, signal: call.signal });
  const asked = leastVersion(call.query);
  // A later page shows the state of the first one, whatever version is asked for.
  if (options.continue === undefined && asked > Number(found.resourceVersion)) throw versionTooLarge(asked, Number(found.resourceVersion));
  return { stream: (response) => streamList(response, type, found) };
}

async function watch(call: Call, type: ResourceType, namespace: string | undefined): Promise<Answer> {
  const events = call.client.watch(type, { ...watchOptions(call.query), namespace, signal: call.signal });
  return await watchAnswer(type, events, call.signal);
}

async function create(call: Call, type: ResourceType, namespace: string | undefined): Promise<Answer> {
  if (type.namespaced && namespace === undefined) {
    throw badRequest(`a ${type.kind} lies in a namespace: create it at namespaces/<namespace>/${type.plural}`);
  }
  const options = writeOptions(call.query, "CreateOptions");
  const object = await readObject(call.request, type, namespace);
  return { code: 201, body: await call.client.create(type, object, { ...options, signal: call.signal }) };
}

/** How much text is made between two looks at the rest of the world: a list of 100,000 objects must not stop every watch. */
const pieceLength = 64 * 1024;

/** Writes `<Kind>List` piece by piece, as fast as the reader takes it. */
async function streamList(response: ServerResponse, type: ResourceType, page: ObjectList<ApiObject>): Promise<void> {
  const metadata = {
    resourceVersion: page.resourceVersion,
    ...(page.continue !== undefined && { continue: page.continue }),
    ...(page.remainingItemCount !== undefined && { remainingItemCount: page.remainingItemCount }),
  };
  response.writeHead(200, { "Content-Type": "application/json" });
  let piece = `{"kind":"${type.kind}List","apiVersion":"${apiVersionOf(type)}","metadata":${JSON.stringify(metadata)},"items":[`;
  let separator = "";
  for (const item of page.items) {
    piece += separator + JSON.stringify(item);
    separator = ",";
    if (piece.length < pieceLength) continue;
    response.write(piece);
    piece = "";
    await writable(response);
    await othersTurn();
    if (response.destroyed) return;
  }
  response.end(`${piece}]}`);
}

function othersTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
