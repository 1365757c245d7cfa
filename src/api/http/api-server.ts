/**
 * The HTTP server of all our APIs. Each API is a face: a plugin with its own error shape. What they share is here.
 *
 * - `authenticate.ts`     the caller: API keys, impersonation   - `caller-of.ts`       the caller, for routes
 * - `rate-limiter.ts`     how often a key may ask               - `team-gate.ts`       … and the keys of a team together
 * - `failure.ts`          errors of all sorts as one            - `status.ts`          codes as HTTP
 * - `error-shape.ts`      failures as an API writes them        - `problem.ts`         … and as the native API does
 * - `unknown-routes.ts`   404 and 405                           - `status-routes.ts`   health and metrics
 * - `observe-requests.ts` metrics and the audit log             - `request-signal.ts`  a signal for a client that left
 * - `listen.ts`           its address, and its end              - `upgrades.ts`        WebSockets
 * - `session-cookie.ts`   sessions of the console
 *
 * There is no CORS: browsers must not send keys from pages that we do not serve.
 */
import { randomUUID } from "node:crypto";
import { maxHeaderSize } from "node:http";
import Fastify, { type FastifyInstance } from "fastify";
import type { Clock } from "#lib/clock.ts";
import { requireKey } from "./authenticate.ts";
import { answerFailure, type ErrorShape, useErrorShape } from "./error-shape.ts";
import { failureOf } from "./failure.ts";
import { mayHandOver } from "./listen.ts";
import { type ObserveDeps, observeRequests } from "./observe-requests.ts";
import { problemShape } from "./problem.ts";
import { type RateLimit, rateLimiter } from "./rate-limiter.ts";
import { endStreamsOnClose, endWithKeys } from "./request-signal.ts";
import { type StatusDeps, statusRoutes } from "./status-routes.ts";
import { countTerminals, TeamGate, type TeamGateDeps } from "./team-gate.ts";
import { answerUnknownRoutes, rememberRoutes } from "./unknown-routes.ts";
import { isWebSocket, routeUpgrades } from "./upgrades.ts";
import type { ConsoleSessions } from "#services/keys/console-sessions.ts";
import type { KeyService } from "#services/keys/key-service.ts";

export interface ApiServerDeps extends ObserveDeps, StatusDeps {
  readonly keys: Pick<KeyService, "authenticate" | "whenEnded">;
  /** Of the console; none when left out. */
  readonly sessions?: Pick<ConsoleSessions, "callerOf"> | undefined;
  readonly clock: Clock;
  readonly rateLimit: RateLimit;
  /** Of teams; none when left out. */
  readonly limits?: TeamGateDeps["limits"];
  readonly faces: readonly ApiFace[];
}

/** One API on the server. Its routes need a key, except those whose config says `public`. */
export interface ApiFace {
  readonly errors: ErrorShape;
  /** Whether the console may call it with its session instead of a key. */
  readonly acceptsSessions?: boolean;
  readonly routes: (app: FastifyInstance) => void | Promise<void>;
}

/** Large enough for any of our objects; files go to the sandbox, not through here. */
const bodyLimit = 1024 * 1024;

export async function apiServer(deps: ApiServerDeps): Promise<FastifyInstance> {
  const app = Fastify({
    bodyLimit,
    http: { shouldUpgradeCallback: isWebSocket },
    genReqId: (request) => requestId(request.headers["x-request-id"]),
    // Names of objects may be longer than the router's default limit; services refuse invalid names.
    routerOptions: { maxParamLength: maxHeaderSize },
    // A path that cannot be decoded has no route, and so no face.
    frameworkErrors: (error, _request, reply) => void answerFailure(reply, failureOf(error), problemShape),
    // Refuse unknown fields where a schema says so; never remove them silently.
    ajv: { customOptions: { removeAdditional: false, allErrors: false } },
    // On shutdown, idle connections close at once; open requests may finish.
    forceCloseConnections: "idle",
    // During shutdown, a request on an open connection still gets its answer.
    return503OnClosing: false,
  });
  app.addHook("onRequest", async (request, reply) => {
    void reply.headers({ "x-content-type-options": "nosniff", "x-request-id": request.id, "cache-control": "no-store" });
  });
  allowEmptyJson(app);
  mayHandOver(app);
  endStreamsOnClose(app);
  endWithKeys(app, (id, ended) => deps.keys.whenEnded(id, ended));
  routeUpgrades(app);
  const routes = rememberRoutes(app);
  observeRequests(app, deps);
  useErrorShape(app, problemShape, deps.log);
  answerUnknownRoutes(app, routes, problemShape);
  statusRoutes(app, deps);
  const limiter = rateLimiter(deps.rateLimit, deps.clock);
  const teams = new TeamGate({ ...deps, processes: deps.rateLimit.processes });
  countTerminals(app, teams);
  for (const face of deps.faces) {
    await app.register(async (inside) => {
      useErrorShape(inside, face.errors, deps.log);
      requireKey(inside, { keys: deps.keys, sessions: face.acceptsSessions === true ? deps.sessions : undefined, limiter, teams });
      await face.routes(inside);
    });
  }
  return app;
}

/** Many clients always declare JSON, also without a body. Where a body is required, its own check reports that. */
function allowEmptyJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser("error", "error");
  // Fastify passes it on as text; the check then reports that it is not an object.
  app.removeContentTypeParser("text/plain");
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body: string, done) => {
    if (body === "") done(null);
    else void parse(request, body, done);
  });
}

/** A client's own request id is kept, so that the client finds its request in our log. An id that could break a log line is replaced. */
function requestId(given: string | readonly string[] | undefined): string {
  return typeof given === "string" && /^[\w.:-]{1,100}$/.test(given) ? given : randomUUID();
}
