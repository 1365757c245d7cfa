import type { ServerResponse } from "node:http";
import type { ObjectList } from "#kube/object-client.ts";
import type { ApiObject } from "#model/meta.ts";
import { apiVersionOf, type ResourceType } from "#model/resource.ts";
import { writable } from "./answer.ts";

/** How much text is made between two looks at the rest of the world: a list of 100,000 objects must not stop every watch. */
const pieceLength = 64 * 1024;

/** Writes `<Kind>List` piece by piece, as fast as the reader takes it. */
export async function streamList(response: ServerResponse, type: ResourceType, list: ObjectList<ApiObject>): Promise<void> {
  const metadata = {
    resourceVersion: list.resourceVersion,
    ...(list.continue !== undefined && { continue: list.continue }),
    ...(list.remainingItemCount !== undefined && { remainingItemCount: list.remainingItemCount }),
  };
  response.writeHead(200, { "Content-Type": "application/json" });
  let piece = `{"kind":"${type.kind}List","apiVersion":"${apiVersionOf(type)}","metadata":${JSON.stringify(metadata)},"items":[`;
  let separator = "";
  for (const item of list.items) {
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
