/** One request to a pod whose answer is read as a stream. It has its own connection: a command may run for minutes. */
import { once } from "node:events";
import { type IncomingMessage, request as openRequest } from "node:http";
import { ChildAbort } from "#lib/abortable.ts";
import type { DaemonAddress } from "./daemon-client.ts";

export interface PodStreamRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface PodStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Leaving the loop closes the connection. Throws when the connection fails or the signal is aborted. */
  readonly body: AsyncIterable<Buffer>;
}

/** Resolves with the header of the answer, for any status. */
export type OpenPodStream = (at: DaemonAddress, request: PodStreamRequest, signal: AbortSignal) => Promise<PodStream>;

/** Time limit for the header: a daemon whose processor is fully used may be slow. */
const headTimeoutMs = 15_000;

export const openPodStream: OpenPodStream = async ({ ip, port }, { method, path, headers = {}, body }, signal) => {
  using waiting = new ChildAbort(signal);
  const limit = setTimeout(() => waiting.abort(new Error(`no answer within ${headTimeoutMs / 1000} s`)), headTimeoutMs);
  try {
    const asked = openRequest({ agent: false, host: ip, port, method, path, headers: { ...headers }, signal });
    asked.on("error", () => {});
    const stop = (): void => void asked.destroy();
    waiting.signal.addEventListener("abort", stop, { once: true });
    asked.end(body);
    const [response] = (await once(asked, "response", { signal: waiting.signal })) as [IncomingMessage];
    waiting.signal.removeEventListener("abort", stop);
    return { status: response.statusCode ?? 0, headers: response.headers, body: response };
  } catch (error) {
    throw waiting.signal.aborted ? waiting.signal.reason : error;
  } finally {
    clearTimeout(limit);
  }
};
