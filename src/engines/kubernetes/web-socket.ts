/** Opens a WebSocket to the API server: with our credentials, and every failure as an ApiError. */
import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { ApiError } from "#kube/api-error.ts";
import type { Connection } from "./connection.ts";
import type { Credentials } from "./credentials.ts";
import { errorFromAnswer, errorFromSocket } from "./status-error.ts";

export interface SocketRequest {
  /** With its query string. */
  readonly path: string;
  /** Of these the server chooses the first that it knows. */
  readonly protocols: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

export interface SocketOptions {
  readonly connection: Connection;
  readonly credentials: Credentials;
  readonly userAgent: string;
  /** For when to come again, which a server may say as a date. */
  readonly now: () => number;
}

/** A server may send no more in one piece, and a refusal is not longer. */
const maxMessageBytes = 32 * 1024 * 1024;
const maxRefusalBytes = 64 * 1024;

/** Resolves with a socket from which nothing was read yet: it is paused. */
export function openWebSocket(request: SocketRequest, options: SocketOptions): Promise<WebSocket> {
  const { connection, credentials, userAgent, now } = options;
  const { origin, basePath, socketPath, proxyUrl } = connection;
  const name = `GET ${request.path.replace(/\?.*$/, "")}`;
  if (socketPath !== undefined || (proxyUrl !== undefined && proxyUrl !== "")) {
    const way = socketPath === undefined ? "a proxy (proxy-url)" : "a unix socket";
    throw new ApiError("MethodNotAllowed", `${name}: programs cannot be run in pods through ${way}`);
  }
  const socket = new WebSocket(origin.replace(/^http/, "ws") + basePath + request.path, [...request.protocols], {
    ...credentials.tls,
    headers: { "user-agent": userAgent, ...credentials.headers },
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
  });
  return new Promise((resolve, reject) => {
    const { signal } = request;
    const fail = (error: unknown): void => {
      signal?.removeEventListener("abort", onAbort);
      socket.terminate();
      reject(error);
    };
    const onAbort = (): void => fail(signal?.reason);
    // Also for the failure that terminating a socket which is not open yet is.
    socket.on("error", (error) => fail(errorFromSocket(name, origin, error)));
    socket.once("unexpected-response", (_, answer) => void refusal(name, answer, now).then(fail));
    socket.once("upgrade", ({ socket: wire }) => wire.setKeepAlive(true, 15_000));
    socket.once("open", () => {
      signal?.removeEventListener("abort", onAbort);
      socket.pause();
      resolve(socket);
    });
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}

async function refusal(request: string, answer: IncomingMessage, now: () => number): Promise<ApiError> {
  const { statusCode: status = 500, headers } = answer;
  let text = "";
  try {
    for await (const chunk of answer.setEncoding("utf8")) {
      text += chunk;
      if (text.length > maxRefusalBytes) break;
    }
  } catch {
    // What has come will do.
  }
  const contentType = headers["content-type"] ?? "";
  return errorFromAnswer({ request, status, contentType, retryAfter: headers["retry-after"], text }, now());
}
