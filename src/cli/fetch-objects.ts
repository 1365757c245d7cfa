/** Gets the objects that a command line names, by name or as lists. A missing object becomes an error beside the others. */
import { ApiError, isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { ApiObject } from "#model/meta.ts";
import { apiVersionOf, type ResourceType } from "#model/resource.ts";
import type { CliContext } from "./context.ts";
import type { ObjectFormat } from "./print/print-objects.ts";
import type { Selection } from "./select-objects.ts";

/** Page size of lists, so that no answer is too large for memory. */
const pieceSize = 500;

export interface GetRequest {
  readonly selections: readonly Selection[];
  /** Undefined: all objects. */
  readonly namespace: string | undefined;
  readonly labelSelector: string | undefined;
  readonly fieldSelector: string | undefined;
  readonly output: "table" | "wide" | ObjectFormat;
  readonly headers: boolean;
  readonly ignoreNotFound: boolean;
}

/** Objects of one kind that were found. */
export interface Found {
  readonly type: ResourceType;
  readonly objects: readonly ApiObject[];
}

export async function fetchAll(
  context: CliContext,
  client: ObjectClient,
  request: GetRequest,
): Promise<{ found: readonly Found[]; errors: readonly unknown[] }> {
  const errors: unknown[] = [];
  const found: Found[] = [];
  for (const selection of request.selections) {
    for await (const piece of fetchOne(client, selection, request, context.signal)) {
      if ("error" in piece) errors.push(piece.error);
      else found.push(piece);
    }
  }
  return { found, errors };
}

type Piece = Found | { readonly error: unknown };

async function* fetchOne(client: ObjectClient, selection: Selection, request: GetRequest, signal: AbortSignal): AsyncGenerator<Piece> {
  const { type, names } = selection;
  const namespace = type.namespaced ? request.namespace : undefined;
  if (names !== undefined) {
    for (const name of names) {
      try {
        yield { type, objects: [await client.get(type, { namespace, name }, { signal })] };
      } catch (error) {
        if (!(request.ignoreNotFound && isApiError(error, "NotFound"))) yield { error };
      }
    }
    return;
  }
  const { labelSelector, fieldSelector } = request;
  let from: string | undefined;
  do {
    try {
      const piece = await client.list(type, { namespace, labelSelector, fieldSelector, limit: pieceSize, continue: from, signal });
      yield { type, objects: piece.items };
      from = piece.continue;
    } catch (error) {
      yield { error: listFailed(error, type, request) };
      return;
    }
  } while (from !== undefined);
}

function listFailed(error: unknown, type: ResourceType, { labelSelector = "", fieldSelector = "" }: GetRequest): unknown {
  if (!isApiError(error, "BadRequest")) return error;
  const resource = JSON.stringify(`${type.group === "" ? `/${type.version}` : apiVersionOf(type)}, Resource=${type.plural}`);
  const selectors = `label selector ${JSON.stringify(labelSelector)}, field selector ${JSON.stringify(fieldSelector)}`;
  return new ApiError(error.reason, `Unable to find ${resource} that match ${selectors}: ${error.message}`, {
    ...error.details,
    cause: error,
  });
}
