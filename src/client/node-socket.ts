/** A WebSocket that carries the key in a header, for programs on Node. */
import { text as textOf } from "node:stream/consumers";
import { WebSocket } from "ws";
import { errorFromAnswer } from "./client-error.ts";
import { unreachable } from "./http-caller.ts";

export interface NodeSocketPlace {
  readonly url: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Resolves when it is open. Throws ClientError. */
export async function openNodeSocket({ url, path, headers }: NodeSocketPlace, signal: AbortSignal | undefined): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}${path}`, { headers, perMessageDeflate: false });
  const abort = (): void => socket.terminate();
  signal?.addEventListener("abort", abort, { once: true });
  try {
    return await opened(socket, url);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

function opened(socket: WebSocket, url: string): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    socket.on("error", (error) => reject(unreachable(url, error)));
    socket.once("unexpected-response", (_, answer) => {
      const { statusCode = 0, headers } = answer;
      void textOf(answer)
        .catch(() => "")
        .then((body) => reject(errorFromAnswer(statusCode, body, [headers["x-request-id"]].flat()[0])))
        .finally(() => socket.terminate());
    });
    socket.once("open", () => resolve(socket));
  });
}
