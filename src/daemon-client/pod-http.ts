/**
 * Single requests to pods. There are thousands of them, each asked now and then, so a socket is kept only for a moment; and what does
 * not answer soon is gone or not there yet, so nobody waits for it long.
 */
import { Agent, type Dispatcher } from "undici";
import type { DaemonAddress } from "./daemon-client.ts";

export interface PodHttp {
  /** Whatever the status. Rejects when there is no answer in time; redirects are not followed. */
  send(at: DaemonAddress, request: PodRequest, signal?: AbortSignal): Promise<PodAnswer>;
  close(): Promise<void>;
}

export interface PodRequest {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** For the whole answer; 5 s when left out. */
  readonly timeoutMs?: number;
}

export interface PodAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The beginning of the body, which may be a user's and of any length. */
  readonly text: string;
}

const connectTimeoutMs = 1000;
const defaultTimeoutMs = 5000;
const keepAliveMs = 1000;
const maxTextBytes = 4096;

export function openPodHttp(): PodHttp {
  const agent = new Agent({
    connections: 4,
    pipelining: 1,
    connect: { timeout: connectTimeoutMs },
    keepAliveTimeout: keepAliveMs,
    // What a pod says about it does not count: a user's server may ask for hours.
    keepAliveMaxTimeout: keepAliveMs,
  });
  return { send: (at, request, signal) => send(agent, at, request, signal), close: () => agent.destroy() };
}

async function send(agent: Agent, { ip, port }: DaemonAddress, request: PodRequest, signal: AbortSignal | undefined): Promise<PodAnswer> {
  const { method, path, headers = {}, body = null, timeoutMs = defaultTimeoutMs } = request;
  const origin = `http://${ip.includes(":") ? `[${ip}]` : ip}:${port}`;
  const limit = AbortSignal.timeout(timeoutMs);
  const answer = await agent.request({
    origin,
    method,
    path,
    headers: { ...headers },
    body,
    signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
  });
  return { status: answer.statusCode, headers: singleHeaders(answer.headers), text: await beginning(answer.body) };
}

function singleHeaders(headers: Dispatcher.ResponseData["headers"]): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : value]));
}

async function beginning(body: Dispatcher.ResponseData["body"]): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    // Leaving the loop drops the rest, with its connection.
    if (size >= maxTextBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxTextBytes).toString("utf8");
}
