import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";
import { CliError } from "#cli/failure.ts";

export interface StatusServerOptions {
  readonly port: number;
  readonly ready: () => boolean;
  readonly registry: Registry;
}

const host = "127.0.0.1";

/** Health and metrics for this machine. No objects: those are behind the unix socket, where the kernel says who may read them. */
export async function startStatusServer(options: StatusServerOptions): Promise<{ readonly server: Server; readonly address: string }> {
  const server = createServer((request, response) => {
    // A page in a browser may point a name of its own at this address; it must not read what programs of this machine may.
    if (!isLocalName(request.headers.host)) return answer(response, 403, "this address is for programs of this machine\n");
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("Allow", "GET, HEAD");
      return answer(response, 405, "this address only answers GET and HEAD\n");
    }
    void answerPath(options, (request.url ?? "/").split("?", 1)[0] ?? "/", response);
  });
  await listen(server, options.port);
  return { server, address: `http://${host}:${(server.address() as AddressInfo).port}` };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(explain(error, port)));
    server.listen({ host, port }, resolve);
  });
}

function explain(error: NodeJS.ErrnoException, port: number): Error {
  const other = `Choose another: AGENTBOX_PORT=${port + 1} make up, or agentbox up --port ${port + 1}`;
  if (error.code === "EADDRINUSE") return new CliError(`port ${port} on ${host} is in use by another program. ${other}`);
  if (error.code === "EACCES") return new CliError(`port ${port} needs more rights than this user has. ${other}`);
  return error;
}

async function answerPath({ ready, registry }: StatusServerOptions, path: string, response: ServerResponse): Promise<void> {
  if (path === "/healthz" || path === "/livez") return answer(response, 200, "ok");
  if (path === "/readyz") return ready() ? answer(response, 200, "ok") : answer(response, 503, "not ready");
  if (path === "/metrics") {
    response.setHeader("Content-Type", registry.contentType);
    return answer(response, 200, await registry.metrics());
  }
  answer(response, 404, "there is /healthz, /livez, /readyz and /metrics\n");
}

function answer(response: ServerResponse, code: number, body: string): void {
  if (!response.hasHeader("Content-Type")) response.setHeader("Content-Type", "text/plain; charset=utf-8");
  response.writeHead(code).end(body);
}

function isLocalName(hostHeader: string | undefined): boolean {
  const name = (hostHeader ?? "").replace(/:\d+$/, "");
  return name === host || name === "localhost" || name === "[::1]";
}
