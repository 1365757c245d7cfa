/** Signing in to the console and out of it, by an API key or by an OpenID Connect provider; and acting as a team, for admins. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Caller } from "#services/caller.ts";
import type { ConsoleSessions } from "#services/keys/console-sessions.ts";
import type { KeyService } from "#services/keys/key-service.ts";
import { ServiceError } from "#services/service-error.ts";
import type { OidcSignIn } from "#services/sign-in/oidc-sign-in.ts";
import { actingAs } from "../http/authenticate.ts";
import { setCaller } from "../http/caller-of.ts";
import { checkOwnPage, flowCookie, flowText, sessionCookie, sessionText } from "../http/session-cookie.ts";
import { enterAs } from "../http/team-gate.ts";

export interface SessionDeps {
  readonly keys: Pick<KeyService, "authenticate">;
  readonly sessions: ConsoleSessions;
  /** Left out: people sign in with API keys only. */
  readonly oidc?: OidcSignIn | undefined;
  /** The domain of the sandboxes' hosts. */
  readonly domain: string;
  /** Address where local programs reach sandboxes without TLS; left out if there is none. */
  readonly sandboxUrl?: string | undefined;
  readonly version: string;
}

const sessionPath = "/console/session";
const config = { public: true };

export function sessionRoutes(app: FastifyInstance, deps: SessionDeps): void {
  keyRoutes(app, deps);
  actingRoute(app, deps);
  app.get("/console/sign-in", { config }, async () => (deps.oidc === undefined ? {} : { oidc: { name: deps.oidc.settings.name } }));
  if (deps.oidc !== undefined) oidcRoutes(app, deps, deps.oidc);
}

/** What the page is told of its session. */
function about({ domain, sandboxUrl, version }: SessionDeps, caller: Caller, isActing = false) {
  return { caller, isActing, domain, version, ...(sandboxUrl !== undefined && { sandboxUrl }) };
}

function keyRoutes(app: FastifyInstance, deps: SessionDeps): void {
  const { keys, sessions } = deps;
  app.post(sessionPath, { config }, async (request, reply) => {
    checkOwnPage(request.headers);
    const caller = keys.authenticate(textIn(request.body, "key", 'send the API key as {"key": "e2b_…"}'));
    if (caller === undefined) throw new ServiceError("unauthenticated", "this API key is not valid: unknown, revoked or expired");
    enterAs(caller, reply);
    setCaller(request, caller);
    const { text, lifetimeMs } = sessions.open(caller);
    reply.header("set-cookie", sessionCookie(request.headers, text, lifetimeMs));
    return about(deps, caller);
  });
  // No session is not an error: the page then asks for a key.
  app.get(sessionPath, { config }, async (request, reply) => {
    checkOwnPage(request.headers);
    const caller = sessions.callerOf(sessionText(request.headers) ?? "");
    if (caller === undefined) return reply.code(204).send();
    enterAs(caller, reply);
    const acting = caller.role === "admin" ? actingAs(caller, request.headers) : caller;
    return about(deps, acting, acting !== caller);
  });
  app.delete(sessionPath, { config }, async (request, reply) => {
    checkOwnPage(request.headers);
    const text = sessionText(request.headers) ?? "";
    const caller = sessions.callerOf(text);
    if (caller !== undefined) setCaller(request, caller);
    sessions.close(text);
    return reply
      .code(204)
      .header("set-cookie", sessionCookie(request.headers, "", 0))
      .send();
  });
}

/**
 * The page of an admin begins to act as a team: from then on it sends the same headers with every request, which carry all of it. So the server keeps nothing, each
 * page shows what it does, and pages beside it go on as admin. This request is there for its entry in the audit log.
 */
function actingRoute(app: FastifyInstance, deps: SessionDeps): void {
  app.post("/console/acting", { config }, async (request, reply) => {
    checkOwnPage(request.headers);
    const caller = deps.sessions.callerOf(sessionText(request.headers) ?? "");
    if (caller === undefined) throw new ServiceError("unauthenticated", "the session has ended: sign in again");
    enterAs(caller, reply);
    const acting = actingAs(caller, request.headers);
    if (acting === caller) {
      throw new ServiceError("invalid_request", "send the team to act as in X-Impersonate-Team", { field: "header.x-impersonate-team" });
    }
    setCaller(request, acting, caller.role);
    return about(deps, acting, true);
  });
}

function oidcRoutes(app: FastifyInstance, deps: SessionDeps, oidc: OidcSignIn): void {
  app.post("/console/oidc/start", { config }, async (request, reply) => {
    checkOwnPage(request.headers);
    checkHost(request, oidc);
    const { url, flow, lifetimeMs } = await oidc.start();
    reply.header("set-cookie", flowCookie(request.headers, flow, lifetimeMs));
    return { url };
  });
  app.post("/console/oidc/finish", { config }, async (request, reply) => {
    checkOwnPage(request.headers);
    const answer = textIn(request.body, "answer", 'send the query of the address that the provider led to as {"answer": "?code=…"}');
    const flow = flowText(request.headers) ?? "";
    // Good for one try, whatever comes of it.
    const forget = flowCookie(request.headers, "", 0);
    reply.header("set-cookie", forget);
    const caller = await oidc.finish(flow, answer);
    signInPerson({ request, reply }, deps, caller, oidc.settings.sessionMs);
    return about(deps, caller);
  });
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

function signInPerson({ request, reply }: Exchange, { sessions }: SessionDeps, caller: Caller, sessionMs: number): void {
  enterAs(caller, reply);
  setCaller(request, caller);
  const { text, lifetimeMs } = sessions.openForPerson(caller, sessionMs);
  reply.header("set-cookie", sessionCookie(request.headers, text, lifetimeMs));
}

/** The provider sends browsers to one address, and a cookie is there only at the address that set it. */
function checkHost({ headers }: FastifyRequest, { settings }: OidcSignIn): void {
  const { host } = new URL(settings.url);
  if ((headers.host ?? "").toLowerCase() !== host) {
    throw new ServiceError("invalid_request", `open the console at ${settings.url} to sign in this way`, { field: "header.host" });
  }
}

function textIn(body: unknown, field: string, help: string): string {
  const text = (body as Readonly<Record<string, unknown>> | null | undefined)?.[field];
  if (typeof text === "string" && text.trim() !== "") return text.trim();
  throw new ServiceError("invalid_request", help, { field });
}
