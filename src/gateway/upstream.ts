/**
 * Connections to sandboxes. Each belongs to one sandbox: a pod that carries another one later is reached over others.
 *
 * A program that listens on 127.0.0.1 only is not at its pod's address. Then the daemon in the sandbox, which is, connects to it:
 * `CONNECT 127.0.0.1:<port>` with the sandbox's tunnel token, which nobody but gateways and daemon know.
 */
import { Agent, type ClientRequestArgs, request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { tunnelTokenHeader } from "#envd-protocol/tunnel.ts";

export interface Upstream {
  readonly sandboxId: string;
  readonly ip: string;
  readonly port: number;
  readonly daemonPort: number;
}

/** Handed to the agent beside Node's own options. */
export interface UpstreamRequest extends ClientRequestArgs {
  readonly upstream: Upstream;
}

/** How long a connection that nobody uses is kept. Most servers keep theirs for five seconds, and who closes first spoils a request. */
const keptMs = 4000;
const connectTimeoutMs = 5000;

/** The sandbox does not take connections on the port. */
export class PortClosed extends Error {
  override readonly name = "PortClosed";
}

export type TunnelTokenOf = (sandboxId: string) => string;

export class UpstreamAgent extends Agent {
  readonly #tunnelTokenOf: TunnelTokenOf;

  constructor(tunnelTokenOf: TunnelTokenOf) {
    super({ keepAlive: true, maxFreeSockets: 64, timeout: keptMs, scheduling: "lifo" });
    this.#tunnelTokenOf = tunnelTokenOf;
  }

  override getName(options?: ClientRequestArgs): string {
    const { sandboxId, ip, port } = upstreamOf(options);
    return `${sandboxId} ${ip} ${port}`;
  }

  override createConnection(options: ClientRequestArgs, done?: (error: Error | null, stream: Duplex) => void): null {
    const finish = done ?? (() => {});
    connectUpstream(upstreamOf(options), this.#tunnelTokenOf, { halfOpen: false }).then(
      (socket) => finish(null, socket),
      // Node's own type has no connection without one.
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
   * Each side may have said all that it has to say before the other. Only for connections that are not used again: one of which half
   * is closed must not be taken for a good one.
   */
  readonly halfOpen: boolean;
}

export async function connectUpstream(upstream: Upstream, tunnelTokenOf: TunnelTokenOf, options: ConnectOptions): Promise<Socket> {
  const { ip, port, daemonPort } = upstream;
  try {
    return await connected(ip, port, options);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ECONNREFUSED" || port === daemonPort) throw asClosed(error);
  }
  return tunnelled(upstream, tunnelTokenOf(upstream.sandboxId));
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

function tunnelled({ ip, port, daemonPort }: Upstream, token: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      host: ip,
      port: daemonPort,
      method: "CONNECT",
      path: `127.0.0.1:${port}`,
      headers: { [tunnelTokenHeader]: token },
      agent: false,
      timeout: connectTimeoutMs,
    });
    request.once("connect", (response, socket, head) => {
      if (response.statusCode !== 200) {
        socket.destroy();
        reject(new PortClosed(`the daemon answered ${response.statusCode ?? 0}`));
        return;
      }
      if (head.length > 0) socket.unshift(head);
      socket.setTimeout(0);
      resolve(socket);
    });
    request.once("response", (response) => {
      response.resume();
      reject(new PortClosed(`the daemon answered ${response.statusCode ?? 0}`));
    });
    request.once("timeout", () => request.destroy(new PortClosed("the daemon did not answer")));
    request.once("error", (error) => reject(asClosed(error)));
    request.end();
  });
}

const closedCodes: ReadonlySet<string> = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT", "EHOSTDOWN"]);

function asClosed(error: unknown): unknown {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return closedCodes.has(code) ? new PortClosed(message, { cause: error }) : error;
}
