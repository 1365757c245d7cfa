/**
 * Observes finished requests: metrics about all of them; about each that may have changed something, a line in the log and an entry in the audit log. The
 * answer waits for its entry, but not for long (audit-trail.ts).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { AuditTrail, NewEntry } from "#services/audit/audit-trail.ts";
import { callerIfKnown, keyRoleOf } from "./caller-of.ts";
import { failureAnswered } from "./error-shape.ts";

export interface ObserveDeps {
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Left out where there is no database. */
  readonly audit?: Pick<AuditTrail, "note"> | undefined;
}

const subjects = new WeakMap<FastifyRequest, Readonly<Record<string, string>>>();

/** Adds to the audit line what the path does not contain, such as the id of a new object. Never add data from a body. */
export function noteSubject(request: FastifyRequest, subject: Readonly<Record<string, string>>): void {
  subjects.set(request, { ...subjects.get(request), ...subject });
}

export function observeRequests(app: FastifyInstance, deps: ObserveDeps): void {
  const { log, metrics } = deps;
  const note = auditNoter(deps);
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
    // Only answers that did not come by the hook below, such as those of connections that were taken over.
    void note(request, reply);
  };
  app.addHook("onResponse", async (request, reply) => observe(request, reply));
  // Fastify does not report answers that the client did not read to the end.
  app.addHook("onSend", async (request, reply) => {
    await note(request, reply);
    if (reply.raw.destroyed) observe(request, reply);
  });
  app.addHook("onRequest", async (request, reply) => {
    reply.raw.once("close", () => {
      if (reply.sent || reply.raw.headersSent) observe(request, reply);
    });
  });
}

/** Notes each request once. */
function auditNoter({ audit }: ObserveDeps): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  const noted = new WeakSet<FastifyRequest>();
  return async (request, reply) => {
    if (audit === undefined || noted.has(request) || !mayChange(request)) return;
    noted.add(request);
    await audit.note(auditEntry(request, reply));
  };
}

function auditEntry(request: FastifyRequest, reply: FastifyReply): NewEntry {
  const { team = "", user = "", keyId = "" } = callerIfKnown(request) ?? {};
  const subject = { ...(request.params as Readonly<Record<string, string>>), ...subjects.get(request) };
  return {
    keyId,
    role: keyRoleOf(request) ?? "tenant",
    team,
    user,
    action: `${request.method} ${routeOf(request)}`,
    target: Object.values(subject).at(-1) ?? "",
    subject,
    address: request.ip,
    agent: request.headers["user-agent"] ?? "",
    status: reply.statusCode,
    ...codeOf(request),
    ms: reply.elapsedTime,
    requestId: request.id,
  };
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
