/**
 * Connections to sandboxes. Each belongs to one sandbox: a later sandbox of the same pod gets new ones. Programs that listen only on the sandbox's
 * loopback are reachable at its address too: the daemon forwards those ports.
 */
import { Agent, type ClientRequestArgs } from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Answer, apiUnreachable, brokenAnswer, closedPort } from "./answers.ts";

export interface Upstream {
  /** Empty for the API. */
  readonly sandboxId: string;
  readonly ip: string;
  readonly port: number;
}

/** Or the API. */
export function isSandbox({ sandboxId }: Pick<Upstream, "sandboxId">): boolean {
  return sandboxId !== "";
}

/** Passed to the agent together with Node's own options. */
export interface UpstreamRequest extends ClientRequestArgs {
  readonly upstream: Upstream;
}

/** Answer to the client if the sandbox did not answer. */
/** `isRepeatable`: the request may be sent again whatever became of it. */
export function failureOf(upstream: Upstream, error: unknown, isRepeatable = true): Answer {
  const { sandboxId, port } = upstream;
  if (!isSandbox(upstream)) return apiUnreachable(error instanceof PortClosed || isRepeatable);
  return error instanceof PortClosed ? closedPort(sandboxId, port) : brokenAnswer(sandboxId, port);
}

/** How long an idle connection is kept. Most servers close theirs after five seconds; if the server closes first, a request is lost. */
const keptMs = 4000;
const connectTimeoutMs = 5000;

/** The sandbox refuses connections on the port. */
export class PortClosed extends Error {
  override readonly name = "PortClosed";
}

export class UpstreamAgent extends Agent {
  constructor() {
    super({ keepAlive: true, maxFreeSockets: 64, timeout: keptMs, scheduling: "lifo" });
  }

  override getName(options?: ClientRequestArgs): string {
    const { sandboxId, ip, port } = upstreamOf(options);
    return `${sandboxId} ${ip} ${port}`;
  }

  override createConnection(options: ClientRequestArgs, done?: (error: Error | null, stream: Duplex) => void): null {
    const finish = done ?? (() => {});
    connectUpstream(upstreamOf(options), { halfOpen: false }).then(
      (socket) => finish(null, socket),
      // Node's type requires a connection.
      (error: unknown) => finish(error as Error, undefined as unknown as Duplex),
    );
    return null;
  }
}

function upstreamOf(options: ClientRequestArgs | undefined): Upstream {
  return (options as UpstreamRequest).upstream;
}

export interface ConnectOptions {
  /**
   * Lets each side end while the other continues. Only for connections that are not reused: a half-closed one must not be taken for a good one.
   */
  readonly halfOpen: boolean;
}

export async function connectUpstream({ ip, port }: Upstream, options: ConnectOptions): Promise<Socket> {
  try {
    return await connected(ip, port, options);
  } catch (error) {
    throw asClosed(error);
  }
}

function connected(host: string, port: number, { halfOpen }: ConnectOptions): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true, allowHalfOpen: halfOpen });
    const late = setTimeout(() => socket.destroy(new PortClosed(`no connection within ${connectTimeoutMs} ms`)), connectTimeoutMs);
    socket.once("connect", () => {
      clearTimeout(late);
      socket.off("error", reject);
      resolve(socket);
    });
    socket.once("error", (error) => {
      clearTimeout(late);
      reject(error);
    });
  });
}

const closedCodes: ReadonlySet<string> = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT", "EHOSTDOWN"]);

function asClosed(error: unknown): unknown {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return closedCodes.has(code) ? new PortClosed(message, { cause: error }) : error;
}
