/** Finds the caller of a request: by its API key or its session of the console, and for admins by the headers with which they act as another team or user. */
import type { IncomingHttpHeaders } from "node:http";
import type { FastifyInstance } from "fastify";
import type { Caller } from "#services/caller.ts";
import { ServiceError } from "#services/service-error.ts";
import type { ConsoleSessions } from "#services/keys/console-sessions.ts";
import { checkedOwner } from "#services/keys/key-rights.ts";
import type { KeyService } from "#services/keys/key-service.ts";
import { setCaller } from "./caller-of.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import { sessionCaller } from "./session-cookie.ts";
import type { TeamGate } from "./team-gate.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Answered without a key. */
    readonly public?: boolean;
  }
}

export interface AuthenticationDeps {
  readonly keys: Pick<KeyService, "authenticate">;
  /** Of the console; left out: only keys are accepted here. */
  readonly sessions?: Pick<ConsoleSessions, "callerOf"> | undefined;
  readonly limiter: RateLimiter;
  readonly teams: TeamGate;
}

/** Every route of this instance needs a key, except those whose config says `public`. */
export function requireKey(app: FastifyInstance, { keys, sessions, limiter, teams }: AuthenticationDeps): void {
  // Before the body is read: a request without a key, or over the rate limit, costs us no more than its headers.
  app.addHook("onRequest", async (request, reply) => {
    if (request.routeOptions.config.public === true || request.is404) return;
    const caller = authenticated({ keys, sessions }, request.headers);
    limiter.take(caller.keyId);
    teams.enter(caller, reply);
    setCaller(request, actingAs(caller, request.headers), caller.role);
  });
}

type Known = Pick<AuthenticationDeps, "keys" | "sessions">;

function authenticated({ keys, sessions }: Known, headers: IncomingHttpHeaders): Caller {
  const key = presentedKey(headers);
  if (key === undefined) {
    const caller = sessions && sessionCaller(sessions, headers);
    if (caller !== undefined) return caller;
    throw new ServiceError(
      "unauthenticated",
      "send an API key as AGENTBOX-API-KEY: e2b_…, X-API-Key: e2b_… or Authorization: Bearer e2b_…",
    );
  }
  const caller = keys.authenticate(key);
  // One answer for unknown, revoked and expired keys: none of them must reveal that a key existed.
  if (caller === undefined) throw new ServiceError("unauthenticated", "this API key is not valid: unknown, revoked or expired");
  return caller;
}

/** An admin that acts as a team or user has only the rights of that caller. Logs show the admin's key. */
export function actingAs(caller: Caller, headers: IncomingHttpHeaders): Caller {
  const team = single(headers["x-impersonate-team"]);
  const user = single(headers["x-impersonate-user"]);
  if (team === undefined && user === undefined) return caller;
  if (caller.role !== "admin") throw new ServiceError("forbidden", "only an admin key can act as another team or user");
  if (team === undefined) {
    throw new ServiceError("invalid_request", "X-Impersonate-User needs X-Impersonate-Team beside it", {
      field: "header.x-impersonate-team",
    });
  }
  return {
    role: "tenant",
    team: checkedOwner("header.x-impersonate-team", team),
    ...(user !== undefined && { user: checkedOwner("header.x-impersonate-user", user) }),
    keyId: caller.keyId,
  };
}

function single(header: string | readonly string[] | undefined): string | undefined {
  const text = (typeof header === "string" ? header : header?.[0])?.trim();
  return text === "" ? undefined : text;
}

/**
 * The API key in a request's headers. Pure.
 *
 * Several headers may contain a key. If they differ, the request is refused, because a client with two keys cannot know which one counts.
 */
function presentedKey(headers: IncomingHttpHeaders): string | undefined {
  const found = [headers["agentbox-api-key"], headers["x-api-key"], bearer(headers.authorization)]
    .flat()
    .map((text) => text?.trim())
    .filter((text) => text !== undefined && text !== "");
  const [first, ...others] = new Set(found);
  if (others.length > 0) {
    throw new ServiceError("invalid_request", "AGENTBOX-API-KEY, X-API-Key and Authorization contain different API keys: send one key", {
      field: "header.authorization",
    });
  }
  return first;
}

/** Other schemes are ignored: they may be meant for a proxy. */
function bearer(authorization: string | undefined): string | undefined {
  return /^bearer +(\S+)$/i.exec(authorization?.trim() ?? "")?.[1];
}
