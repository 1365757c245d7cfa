/** Health and metrics, for the monitoring of the server. No key is needed: they reveal nothing about a tenant's sandboxes. */
import type { FastifyInstance, FastifyReply } from "fastify";

export interface StatusDeps {
  /** True, or the reason why not. */
  readonly ready: () => true | string;
  readonly metricsText: () => Promise<{ readonly contentType: string; readonly text: string }>;
  /** Metrics only for requests that name the server by one of these hosts (without port); for all requests when left out. */
  readonly metricsHosts?: readonly string[];
}

export function statusRoutes(app: FastifyInstance, { ready, metricsText, metricsHosts }: StatusDeps): void {
  for (const path of ["/healthz", "/livez"]) app.get(path, async (_request, reply) => text(reply, 200, "ok"));
  app.get("/ping", async (_request, reply) => text(reply, 200, "pong"));
  app.get("/readyz", async (_request, reply) => {
    const state = ready();
    return state === true ? text(reply, 200, "ok") : text(reply, 503, `not ready: ${state}`);
  });
  app.get("/metrics", async (request, reply) => {
    // A web page may point a DNS name of its own at this address; it must not read what local programs may read.
    if (metricsHosts !== undefined && !metricsHosts.includes((request.headers.host ?? "").replace(/:\d+$/, ""))) {
      return text(reply, 403, "metrics are served only to requests for localhost\n");
    }
    const metrics = await metricsText();
    return reply.type(metrics.contentType).send(metrics.text);
  });
}

function text(reply: FastifyReply, code: number, body: string): FastifyReply {
  return reply.code(code).type("text/plain; charset=utf-8").send(body);
}
