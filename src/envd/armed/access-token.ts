import type { IncomingMessage } from "node:http";
import type { ArmedState } from "#envd/armed-state.ts";
import { isSameSecret } from "#envd-protocol/file-signature.ts";

/** Whether a request carries the sandbox's token, if it has one. */
export function hasToken({ init: { accessToken } }: ArmedState, { headers }: IncomingMessage): boolean {
  const given = headers["x-access-token"];
  return accessToken === undefined || accessToken === "" || (typeof given === "string" && isSameSecret(given, accessToken));
}
