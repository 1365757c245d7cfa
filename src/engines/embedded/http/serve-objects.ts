/**
 * Serves an ObjectClient in the form of the Kubernetes REST API: paths, query parameters, Status bodies and watch streams equal those of a kube-apiserver.
 * A thin layer: it translates, and leaves all decisions to the store.
 *
 * - routes.ts             the resource and name in a path
 * - handle-collection.ts  list, watch, create
 * - handle-item.ts        get, update, patch, delete; status and scale
 * - query-options.ts, request-body.ts, read-delete-options.ts   a request → arguments of the port
 * - stream-watch.ts       long answers, at the reader's pace
 * - answer.ts, status.ts, bad-request.ts   the form of answers and failures
 * - documents.ts          health, version, API groups
 *
 * Not here: discovery, OpenAPI, tables, protobuf, strategic merge patch, server-side apply, deletion of collections.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { ApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { ResourceType } from "#model/resource.ts";
import { type Answer, type Call, send, sendFailure } from "./answer.ts";
import { notServed } from "./bad-request.ts";
import { documentAnswer, type ServerFacts } from "./documents.ts";
import { handleCollection } from "./handle-collection.ts";
import { handleItem } from "./handle-item.ts";
import { wantsWatch } from "./query-options.ts";
import { type Route, type Router, routerFor } from "./routes.ts";
import { asApiError } from "./status.ts";

export interface ServeOptions {
  readonly client: ObjectClient;
  readonly kinds: readonly ResourceType[];
  readonly version?: string;
  readonly ready?: () => boolean;
  /** Told of every request for objects when it has been answered. */
  readonly onServed?: (served: ServedRequest) => void;
  /** Told of failures that are ours: the client only learns that something went wrong. */
  readonly onDefect?: (error: unknown, request: { readonly method: string; readonly path: string }) => void;
}

export interface ServedRequest {
  readonly verb: "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "other";
  readonly type: ResourceType;
  readonly subresource: string | undefined;
  readonly code: number;
  readonly seconds: number;
}

export interface ObjectFace {
  readonly listener: RequestListener;
  /** Ends all watches cleanly and refuses what comes after. */
  readonly stop: () => void;
}

export function serveObjects(options: ServeOptions): ObjectFace {
  const stopping = new AbortController();
  const router = routerFor(options.kinds);
  const facts: ServerFacts = {
    kinds: options.kinds,
    version: options.version ?? "v0.0.0",
    ready: () => !stopping.signal.aborted && (options.ready?.() ?? true),
  };
  const face: Face = { options, router, facts, stopping: stopping.signal };
  return {
    listener: (request, response) => void serve(face, request, response),
    stop: () => stopping.abort(new ApiError("ServiceUnavailable", "the server is shutting down", { retryAfterMs: 1000 })),
  };
}

interface Face {
  readonly options: ServeOptions;
  readonly router: Router;
  readonly facts: ServerFacts;
  readonly stopping: AbortSignal;
}

async function serve(face: Face, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const began = performance.now();
  const [path = "/", query = ""] = (request.url ?? "/").split("?", 2);
  const gone = new AbortController();
  response.once("close", () => gone.abort(new Error("the client went away")));
  const call: Call = {
    client: face.options.client,
    request,
    query: new URLSearchParams(query),
    signal: AbortSignal.any([gone.signal, face.stopping]),
  };
  const route = face.router(path);
  try {
    if (face.stopping.aborted) throw face.stopping.reason;
    acceptJson(request);
    await send(response, await answerTo(face, call, route));
  } catch (thrown) {
    if (!gone.signal.aborted) fail(face, request, response, thrown);
  }
  if (route !== undefined && route.to !== "document") {
    face.options.onServed?.({ ...nameOf(route, call), code: response.statusCode, seconds: (performance.now() - began) / 1000 });
  }
}

async function answerTo(face: Face, call: Call, route: Route | undefined): Promise<Answer> {
  if (route === undefined) throw notServed();
  if (route.to === "document") return documentAnswer(face.facts, route.path);
  return route.to === "item" ? await handleItem(call, route) : await handleCollection(call, route.type, route.namespace);
}

function fail(face: Face, request: IncomingMessage, response: ServerResponse, thrown: unknown): void {
  const error = asApiError(thrown);
  if (!(thrown instanceof ApiError)) {
    face.options.onDefect?.(thrown, { method: request.method ?? "", path: request.url ?? "" });
  }
  if (response.headersSent) {
    // Half an answer cannot be taken back: cutting the connection is the only way to say that it is not whole.
    response.destroy();
    return;
  }
  // What the client still sends is not read, so that the connection cannot serve another request.
  if (!request.complete) response.setHeader("Connection", "close");
  sendFailure(response, error);
}

/** A client that takes only other formats, such as protobuf, must hear so instead of failing to decode. */
function acceptJson(request: IncomingMessage): void {
  const accept = request.headers.accept;
  if (accept === undefined || accept === "") return;
  const taken = accept.split(",").map((entry) => entry.split(";", 1)[0]?.trim().toLowerCase());
  if (taken.some((entry) => entry === "application/json" || entry === "application/*" || entry === "*/*" || entry === "text/plain")) return;
  throw new ApiError("NotAcceptable", "only the following media types are accepted: application/json");
}

const verbs: Readonly<Record<string, ServedRequest["verb"]>> = {
  GET: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

function nameOf(route: Exclude<Route, { to: "document" }>, call: Call): Pick<ServedRequest, "verb" | "type" | "subresource"> {
  const verb = verbs[call.request.method ?? ""] ?? "other";
  const subresource = route.to === "item" ? route.subresource : undefined;
  if (route.to === "collection" && verb === "get")
    return { verb: wantsWatch(call.query) ? "watch" : "list", type: route.type, subresource };
  return { verb, type: route.type, subresource };
}
