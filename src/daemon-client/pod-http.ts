/**
 * Single requests to pods. There are thousands of pods, each asked rarely, so a socket is kept only for a moment. A pod that does not answer soon is gone
 * or not there yet, so the timeout is short. Most requests are the first at their address; for these, Node's own client takes about half of undici's time,
 * and a create waits for this request after its one write.
 */
import { once } from "node:events";
import { Agent, type IncomingMessage, request as openRequest } from "node:http";
import type { Socket } from "node:net";
import { ChildAbort } from "#lib/abortable.ts";
import type { DaemonAddress } from "./daemon-client.ts";

export interface PodHttp {
  /** Resolves for any status. Rejects if there is no answer in time; redirects are not followed. */
  send(at: DaemonAddress, request: PodRequest, signal?: AbortSignal): Promise<PodAnswer>;
  close(): Promise<void>;
}

export interface PodRequest {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Time limit of the whole answer; 5 s when left out. */
  readonly timeoutMs?: number;
  /** Limit of the body that is read; 4 KiB when left out. */
  readonly maxBytes?: number;
}

export interface PodAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The beginning of the body, which may come from a user's program and have any length. */
  readonly text: string;
}

const connectTimeoutMs = 1000;
const defaultTimeoutMs = 5000;
const keepAliveMs = 1000;
const maxTextBytes = 4096;

export function openPodHttp(): PodHttp {
  // A pod's keep-alive hint counts only if it is shorter: a user's server may ask for hours.
  const agent = new Agent({ keepAlive: true, maxSockets: 4, maxFreeSockets: 4, timeout: keepAliveMs });
  return {
    send: (at, request, signal) => send(agent, at, request, signal),
    close: async () => agent.destroy(),
  };
}

async function send(agent: Agent, { ip, port }: DaemonAddress, request: PodRequest, signal: AbortSignal | undefined): Promise<PodAnswer> {
  const { method, path, headers = {}, body, timeoutMs = defaultTimeoutMs, maxBytes = maxTextBytes } = request;
  using abort = new ChildAbort(signal);
  const limit = setTimeout(() => abort.abort(new Error(`no complete answer within ${timeoutMs / 1000} s`)), timeoutMs);
  try {
    const asked = openRequest({ agent, host: ip, port, method, path, headers: { ...headers }, signal: abort.signal });
    // Once the header has come, errors show when the body is read.
    asked.on("error", () => {});
    asked.once("socket", limitConnecting);
    asked.end(body);
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    return { status: response.statusCode ?? 0, headers: singleHeaders(response), text: await beginning(response, maxBytes) };
  } catch (error) {
    throw abort.signal.aborted ? abort.signal.reason : error;
  } finally {
    clearTimeout(limit);
  }
}

/** A deleted pod does not refuse connections, it stays silent. */
function limitConnecting(socket: Socket): void {
  if (!socket.connecting) return;
  const limit = setTimeout(() => socket.destroy(new Error(`no connection within ${connectTimeoutMs / 1000} s`)), connectTimeoutMs);
  for (const end of ["connect", "close"]) socket.once(end, () => clearTimeout(limit));
}

function singleHeaders({ headers }: IncomingMessage): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : value]));
}

async function beginning(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    // Leaving the loop drops the rest of the body and its connection.
    if (size >= maxBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxBytes).toString("utf8");
}
