/**
 * File contents over plain HTTP: GET and POST /files, POST /files/compose.
 * - `download.ts`: reading, - `upload.ts`, `multipart.ts`, `replace-file.ts`, `make-folders.ts`, `metadata.ts`: writing,
 * - `compose.ts`: many to one, - `file-failure.ts`: errors.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { accountOf, UnknownUser } from "#envd/accounts/caller.ts";
import { sendError, sendJson } from "#envd/armed/http-answer.ts";
import { fileQuery, refusal } from "#envd-protocol/file-access.ts";
import { composeFile } from "./compose.ts";
import { sendFile } from "./download.ts";
import { pathResolver, type FileDeps } from "./file-deps.ts";
import { failureKind, failureText, type FailureKind } from "./file-failure.ts";
import { MetadataError } from "./metadata.ts";
import { MultipartError } from "./multipart.ts";
import { BadUpload, receiveFiles } from "./upload.ts";

const statuses: Readonly<Record<FailureKind, number>> = {
  "not-found": 404,
  exists: 400,
  "bad-path": 400,
  forbidden: 403,
  full: 507,
  busy: 409,
  other: 500,
};

/** False if the path does not belong to this service. */
export async function serveFiles(deps: FileDeps, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
  const path = (request.url ?? "").split("?", 1)[0];
  if (path !== "/files" && path !== "/files/compose") return false;
  try {
    await (path === "/files" ? serve(deps, request, response) : composeFile(deps, request, response));
  } catch (error) {
    tellFailure(error, response);
  }
  return true;
}

function tellFailure(error: unknown, response: ServerResponse): void {
  // The answer has begun and cannot be replaced by an error; breaking it off shows the client that it is incomplete.
  if (response.headersSent) {
    response.destroy();
    return;
  }
  for (const name of response.getHeaderNames()) if (name.startsWith("content-")) response.removeHeader(name);
  if (error instanceof UnknownUser) return sendError(response, 401, error.message);
  if (error instanceof BadUpload || error instanceof MultipartError || error instanceof MetadataError)
    return sendError(response, 400, error.message);
  const kind = failureKind(error);
  sendError(response, statuses[kind], kind === "full" ? `not enough disk space available: ${failureText(error)}` : failureText(error));
}

async function serve(deps: FileDeps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const isRead = request.method === "GET" || request.method === "HEAD";
  if (!isRead && request.method !== "POST") return sendError(response, 405, "use GET or POST");
  const query = fileQuery(request.url ?? "");
  const { "x-access-token": header } = request.headers;
  const token = typeof header === "string" ? header : undefined;
  const reason = refusal(deps.state.init.accessToken, { query, operation: isRead ? "read" : "write", token, nowMs: deps.clock.now() });
  if (reason !== undefined) return sendError(response, 401, reason);
  const account = accountOf(deps.accounts, deps.state.init, query.user);
  const resolve = pathResolver(deps, account);
  if (isRead) return sendFile(resolve(query.path ?? ""), request, response);
  const target = query.path === undefined || query.path === "" ? undefined : resolve(query.path);
  sendJson(response, 200, await receiveFiles({ metadata: deps.metadata, owner: account, target, resolve }, request));
}
