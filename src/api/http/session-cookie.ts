/**
 * The web console's session cookie. A browser sends a cookie with every request to this host, also with requests of foreign pages. So a cookie counts only
 * for requests that the console's own page can send (`checkOwnPage`).
 */
import type { IncomingHttpHeaders } from "node:http";
import { consoleCookies, secureCookieName } from "#model/console-cookies.ts";
import type { Caller } from "#services/caller.ts";
import type { ConsoleSessions } from "#services/keys/console-sessions.ts";
import { ServiceError } from "#services/service-error.ts";

/** On every request of the console. A foreign page cannot send it: browsers ask this server first (CORS), and the server never agrees. */
export const consoleHeader = "x-agentbox-console";

/** Undefined without a cookie; throws for an invalid cookie. */
export function sessionCaller(sessions: Pick<ConsoleSessions, "callerOf">, headers: IncomingHttpHeaders): Caller | undefined {
  const text = sessionText(headers);
  if (text === undefined) return undefined;
  checkOwnPage(headers);
  const caller = sessions.callerOf(text);
  if (caller === undefined) throw new ServiceError("unauthenticated", "the session has ended: sign in again");
  return caller;
}

export function sessionText(headers: IncomingHttpHeaders): string | undefined {
  return cookieText(headers, consoleCookies.session);
}

/** With an empty `text`, the browser deletes the cookie. */
export function sessionCookie(headers: IncomingHttpHeaders, text: string, lifetimeMs: number): string {
  return cookie(headers, { name: consoleCookies.session, text, lifetimeMs });
}

/** Of a sign-in at another server, while the browser is there. */
export function flowText(headers: IncomingHttpHeaders): string | undefined {
  return cookieText(headers, consoleCookies.signIn);
}

export function flowCookie(headers: IncomingHttpHeaders, text: string, lifetimeMs: number): string {
  return cookie(headers, { name: consoleCookies.signIn, text, lifetimeMs });
}

function cookieText(headers: IncomingHttpHeaders, cookieName: string): string | undefined {
  const wanted = nameFor(headers, cookieName);
  for (const pair of (headers.cookie ?? "").split(";")) {
    const [name = "", ...value] = pair.trim().split("=");
    if (name === wanted && value.length > 0) return value.join("=");
  }
  return undefined;
}

interface WantedCookie {
  readonly name: string;
  readonly text: string;
  readonly lifetimeMs: number;
}

function cookie(headers: IncomingHttpHeaders, { name, text, lifetimeMs }: WantedCookie): string {
  const maxAge = text === "" ? 0 : Math.floor(lifetimeMs / 1000);
  const secure = isSecure(headers) ? "; Secure" : "";
  return `${nameFor(headers, name)}=${text}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure}`;
}

function nameFor(headers: IncomingHttpHeaders, name: string): string {
  return isSecure(headers) ? secureCookieName(name) : name;
}

/** Throws forbidden for requests that do not come from the console's page. */
export function checkOwnPage(headers: IncomingHttpHeaders): void {
  if (headers[consoleHeader] === undefined) {
    throw new ServiceError(
      "forbidden",
      `sessions work only for the console's own page, which sends ${consoleHeader}; programs must send an API key`,
    );
  }
  const { origin, host = "", "sec-fetch-site": site } = headers;
  const isForeign = origin !== undefined && hostOf(origin) !== host.toLowerCase();
  if (isForeign || (site !== undefined && site !== "same-origin")) {
    throw new ServiceError("forbidden", "the request comes from a page of another origin", { field: "header.origin" });
  }
}

/** A proxy in front sets this header. A client that forges it only gets a cookie with the other name. */
function isSecure(headers: IncomingHttpHeaders): boolean {
  return headers["x-forwarded-proto"] === "https";
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
