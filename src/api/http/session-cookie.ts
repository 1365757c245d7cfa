/**
 * The web console's session, as browsers present it. A browser sends a cookie with every request to this host, also with those that a
 * foreign page makes; so a cookie counts only for requests that the console's own page can make (`checkOwnPage`).
 */
import type { IncomingHttpHeaders } from "node:http";
import type { Caller } from "#services/caller.ts";
import type { ConsoleSessions } from "#services/keys/console-sessions.ts";
import { ServiceError } from "#services/service-error.ts";

/** On every request of the console. A foreign page cannot send it: browsers ask this server first (CORS), and it never says yes. */
export const consoleHeader = "x-agentbox-console";

const plainName = "agentbox_session";
/** Browsers take this name only from the host itself over TLS, so no page of a sandbox below the same domain can set it. */
const secureName = `__Host-${plainName}`;

/** Undefined without a cookie; throws where there is one that is of no use. */
export function sessionCaller(sessions: Pick<ConsoleSessions, "callerOf">, headers: IncomingHttpHeaders): Caller | undefined {
  const text = sessionText(headers);
  if (text === undefined) return undefined;
  checkOwnPage(headers);
  const caller = sessions.callerOf(text);
  if (caller === undefined) throw new ServiceError("unauthenticated", "the session has ended: sign in again");
  return caller;
}

export function sessionText(headers: IncomingHttpHeaders): string | undefined {
  const wanted = isSecure(headers) ? secureName : plainName;
  for (const pair of (headers.cookie ?? "").split(";")) {
    const [name = "", ...value] = pair.trim().split("=");
    if (name === wanted && value.length > 0) return value.join("=");
  }
  return undefined;
}

/** `text` empty: the browser forgets it. */
export function sessionCookie(headers: IncomingHttpHeaders, text: string, lifetimeMs: number): string {
  const name = isSecure(headers) ? secureName : plainName;
  const maxAge = text === "" ? 0 : Math.floor(lifetimeMs / 1000);
  return `${name}=${text}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${isSecure(headers) ? "; Secure" : ""}`;
}

/** Throws forbidden for requests of pages that are not the console. */
export function checkOwnPage(headers: IncomingHttpHeaders): void {
  if (headers[consoleHeader] === undefined) {
    throw new ServiceError(
      "forbidden",
      `a session is good for the console's own page only, which sends ${consoleHeader}; programs send an API key`,
    );
  }
  const { origin, host = "", "sec-fetch-site": site } = headers;
  const isForeign = origin !== undefined && hostOf(origin) !== host.toLowerCase();
  if (isForeign || (site !== undefined && site !== "same-origin")) {
    throw new ServiceError("forbidden", "this request comes from a page of another origin", { field: "header.origin" });
  }
}

/** A proxy in front says so; a client that lies about it only gets a cookie of the other name. */
function isSecure(headers: IncomingHttpHeaders): boolean {
  return headers["x-forwarded-proto"] === "https";
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
