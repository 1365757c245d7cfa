/** The caller of a request, kept on the request: set once by authentication, read by every route. */
import type { FastifyRequest } from "fastify";
import type { Caller } from "#services/caller.ts";
import { ServiceError } from "#services/service-error.ts";

/** Stored beside the request, not on it, so that no header or body can be mistaken for it. */
const callers = new WeakMap<FastifyRequest, Caller>();
const keyRoles = new WeakMap<FastifyRequest, Caller["role"]>();

/** `keyRole`: of the key itself, which may act as another caller. */
export function setCaller(request: FastifyRequest, caller: Caller, keyRole: Caller["role"] = caller.role): void {
  callers.set(request, caller);
  keyRoles.set(request, keyRole);
}

/** Fails closed for a route that was mounted without authentication. */
export function callerOf(request: FastifyRequest): Caller {
  const caller = callers.get(request);
  if (caller === undefined) throw new ServiceError("unauthenticated", "this request carries no API key");
  return caller;
}

/** For logs and metrics, which also cover requests without a known caller. */
export function callerIfKnown(request: FastifyRequest): Caller | undefined {
  return callers.get(request);
}

export function keyRoleOf(request: FastifyRequest): Caller["role"] | undefined {
  return keyRoles.get(request);
}
