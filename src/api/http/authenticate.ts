/** Who asks: an API key, and for admins the headers with which they act as somebody else. */
import type { IncomingHttpHeaders } from "node:http";
import type { FastifyInstance } from "fastify";
import type { Caller } from "#services/caller.ts";
import { ServiceError } from "#services/service-error.ts";
import type { KeyService } from "#services/keys/key-service.ts";
import { setCaller } from "./caller-of.ts";
import { presentedKey } from "./presented-key.ts";
import type { RateLimiter } from "./rate-limiter.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Answered without a key. */
    readonly public?: boolean;
  }
}

export interface AuthenticationDeps {
  readonly keys: Pick<KeyService, "authenticate">;
  readonly limiter: RateLimiter;
}

/** Every route of this instance wants a key, but those whose config says `public`. */
export function requireKey(app: FastifyInstance, { keys, limiter }: AuthenticationDeps): void {
  // Before the body is read: whoever has no key, or asks too often, costs us nothing more than his headers.
  app.addHook("onRequest", async (request) => {
    if (request.routeOptions.config.public === true || request.is404) return;
    const caller = authenticated(keys, request.headers);
    limiter.take(caller.keyId);
    setCaller(request, actingAs(caller, request.headers));
  });
}

function authenticated(keys: Pick<KeyService, "authenticate">, headers: IncomingHttpHeaders): Caller {
  const key = presentedKey(headers);
  if (key === undefined) {
    throw new ServiceError(
      "unauthenticated",
      "send an API key as AGENTBOX-API-KEY: e2b_…, X-API-Key: e2b_… or Authorization: Bearer e2b_…",
    );
  }
  const caller = keys.authenticate(key);
  // One answer for unknown, revoked and expired: none of them tells whether there ever was such a key.
  if (caller === undefined) throw new ServiceError("unauthenticated", "this API key is not valid: unknown, revoked or expired");
  return caller;
}

/** An admin who acts as somebody is that caller and nothing more; only his key stays what logs know him by. */
function actingAs(caller: Caller, headers: IncomingHttpHeaders): Caller {
  const team = single(headers["x-impersonate-team"]);
  const user = single(headers["x-impersonate-user"]);
  if (team === undefined && user === undefined) return caller;
  if (caller.role !== "admin") throw new ServiceError("forbidden", "only an admin key can act as somebody else");
  if (team === undefined) {
    throw new ServiceError("invalid_request", "X-Impersonate-User needs X-Impersonate-Team beside it", {
      field: "header.x-impersonate-team",
    });
  }
  return { role: "tenant", team, ...(user !== undefined && { user }), keyId: caller.keyId };
}

function single(header: string | readonly string[] | undefined): string | undefined {
  const text = (typeof header === "string" ? header : header?.[0])?.trim();
  return text === "" ? undefined : text;
}
