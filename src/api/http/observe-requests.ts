/** Observes finished requests: metrics about all of them, and an audit line about each that may have changed something. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import { callerIfKnown } from "./caller-of.ts";
import { failureAnswered } from "./error-shape.ts";

export interface ObserveDeps {
  readonly log: Logger;
  readonly metrics: Metrics;
}

const subjects = new WeakMap<FastifyRequest, Readonly<Record<string, string>>>();

/** Adds to the audit line what the path does not contain, such as the id of a new object. Never add data from a body. */
export function noteSubject(request: FastifyRequest, subject: Readonly<Record<string, string>>): void {
  subjects.set(request, { ...subjects.get(request), ...subject });
}

export function observeRequests(app: FastifyInstance, { log, metrics }: ObserveDeps): void {
  const requests = metrics.counter({
    name: "agentbox_http_requests_total",
    help: "Requests to the APIs that were answered, streams when they end",
    labels: ["route", "method", "code"],
  });
  const seconds = metrics.histogram({
    name: "agentbox_http_request_duration_seconds",
    help: "Time from a request to the APIs to the end of its answer",
    labels: ["route", "method", "code"],
  });
  const seen = new WeakSet<FastifyRequest>();
  const observe = (request: FastifyRequest, reply: FastifyReply): void => {
    if (seen.has(request)) return;
    seen.add(request);
    // Paths without a route share one label, so that callers cannot create new label values.
    const labels = { route: routeOf(request), method: request.method, code: String(reply.statusCode) };
    requests.add(labels);
    seconds.observe(labels, reply.elapsedTime / 1000);
    if (mayChange(request)) log.info(auditFields(request, reply), "change");
  };
  app.addHook("onResponse", async (request, reply) => observe(request, reply));
  // Fastify does not report answers that the client did not read to the end.
  app.addHook("onSend", async (request, reply) => {
    if (reply.raw.destroyed) observe(request, reply);
  });
  app.addHook("onRequest", async (request, reply) => {
    reply.raw.once("close", () => {
      if (reply.sent || reply.raw.headersSent) observe(request, reply);
    });
  });
}

function routeOf(request: FastifyRequest): string {
  return request.is404 ? "none" : (request.routeOptions.url ?? "none");
}

/** Only with a known caller: a request refused earlier changed nothing, and logging it would let anonymous clients fill the log. */
function mayChange(request: FastifyRequest): boolean {
  return !["GET", "HEAD", "OPTIONS"].includes(request.method) && callerIfKnown(request) !== undefined;
}

function auditFields(request: FastifyRequest, reply: FastifyReply): Readonly<Record<string, unknown>> {
  const { role, team, user, keyId } = callerIfKnown(request) ?? {};
  return {
    keyId,
    role,
    ...(team !== "" && { team }),
    ...(user !== undefined && { user }),
    method: request.method,
    route: routeOf(request),
    ...(request.params as object),
    ...subjects.get(request),
    status: reply.statusCode,
    ...codeOf(request),
    ms: Math.round(reply.elapsedTime),
    requestId: request.id,
  };
}

function codeOf(request: FastifyRequest): { readonly code?: string } {
  const failure = failureAnswered(request);
  return failure === undefined ? {} : { code: failure.code };
}
