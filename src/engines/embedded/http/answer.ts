/** What a handler gives back, and how it goes out. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { failureStatus, retryAfterSeconds } from "./status.ts";

/** One request on its way through a handler. */
export interface Call {
  readonly client: ObjectClient;
  readonly request: IncomingMessage;
  readonly query: URLSearchParams;
  /** Aborted when the client goes away or the server stops. */
  readonly signal: AbortSignal;
}

export type Answer =
  | { readonly code: number; readonly body: unknown }
  /** Too long or too slow to be held at once: writes itself. */
  | { readonly stream: (response: ServerResponse) => Promise<void> };

export async function send(response: ServerResponse, answer: Answer): Promise<void> {
  if ("stream" in answer) {
    await answer.stream(response);
    return;
  }
  sendJson(response, answer.code, answer.body);
}

export function sendFailure(response: ServerResponse, error: ApiError): void {
  const seconds = retryAfterSeconds(error);
  if (seconds !== undefined) response.setHeader("Retry-After", seconds);
  sendJson(response, error.code, failureStatus(error));
}

/** Resolves when the connection takes more, or is gone: a writer must not pile up data for a slow reader. */
export function writable(response: ServerResponse): Promise<void> {
  if (!response.writableNeedDrain || response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
  });
}

function sendJson(response: ServerResponse, code: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(code, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) });
  response.end(text);
}
