import type { IncomingMessage } from "node:http";
import type { ArmedState } from "#envd/armed-state.ts";
import { isSameSecret } from "#envd-protocol/file-signature.ts";

/** True if a request carries the sandbox's access token, or the sandbox has none. */
export function hasToken({ init: { accessToken } }: ArmedState, { headers }: IncomingMessage): boolean {
  return accessToken === undefined || accessToken === "" || isSame(headers["x-access-token"], accessToken);
}

/** Like `hasToken`, but also accepts the token of the sandbox's ports. */
export function hasAnyToken(state: ArmedState, request: IncomingMessage): boolean {
  return hasToken(state, request) || isSame(request.headers["e2b-traffic-access-token"], state.init.trafficToken);
}

function isSame(given: string | readonly string[] | undefined, right: string | undefined): boolean {
  return typeof given === "string" && right !== undefined && right !== "" && isSameSecret(given, right);
}
