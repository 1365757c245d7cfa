/**
 * Headers of forwarded messages: those about one connection are dropped, all others are forwarded unchanged, in order and with their spelling. Raw headers
 * are `[name, value, name, value, …]`.
 */
import { consoleCookieMark, consoleCookies, secureCookieName } from "#model/console-cookies.ts";

const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
]);

/** Only the gateway sets these: a client must not pretend to be the gateway, and the sandbox needs no routing headers. */
const ours: ReadonlySet<string> = new Set([
  "e2b-sandbox-id",
  "e2b-sandbox-port",
  "x-forwarded-for",
  "x-forwarded-proto",
  "x-forwarded-host",
]);

export interface Forwarded {
  readonly client: string;
  readonly proto: "http" | "https";
  /** The host name that the client used. */
  readonly host: string;
  /** Host header for the sandbox, if it should see another one. */
  readonly mask?: string | undefined;
  readonly isForSandbox: boolean;
}

/** Headers for the sandbox. Undefined if two readers could interpret the request differently. */
export function requestHeaders(raw: readonly string[], { client, proto, host, mask, isForSandbox }: Forwarded): string[] | undefined {
  if (isAmbiguous(raw)) return undefined;
  const named = namedByConnection(raw);
  const headers: string[] = ["Host", mask ?? host];
  for (let at = 0; at < raw.length; at += 2) {
    const [name = "", value = ""] = [raw[at], raw[at + 1]];
    const lower = name.toLowerCase();
    if (isAboutConnection(lower, named) || ours.has(lower)) continue;
    const kept = isForSandbox && lower === "cookie" ? withoutSession(value) : value;
    if (kept !== "" || value === "") headers.push(name, kept);
  }
  headers.push("X-Forwarded-For", client, "X-Forwarded-Proto", proto, "X-Forwarded-Host", host);
  return headers;
}

function isAmbiguous(raw: readonly string[]): boolean {
  let [hosts, lengths] = [0, 0];
  for (let at = 0; at < raw.length; at += 2) {
    const lower = raw[at]?.toLowerCase();
    if (lower === "host") hosts++;
    if (lower === "content-length") lengths++;
  }
  return hosts > 1 || lengths > 1;
}

/** Host is written anew; names with a colon belong to HTTP/2. */
function isAboutConnection(lower: string, named: ReadonlySet<string>): boolean {
  return lower === "host" || lower.startsWith(":") || hopByHop.has(lower) || named.has(lower);
}

/** Headers for the client. A sandbox must not sign a browser in to the console under another key. */
export function responseHeaders(raw: readonly string[], { isOfSandbox }: { readonly isOfSandbox: boolean }): string[] {
  const named = namedByConnection(raw);
  const headers: string[] = [];
  for (let at = 0; at < raw.length; at += 2) {
    const [name = "", value = ""] = [raw[at], raw[at + 1]];
    const lower = name.toLowerCase();
    const isForbidden = isOfSandbox && lower === "set-cookie" && isSession(value);
    if (!hopByHop.has(lower) && !named.has(lower) && !isForbidden) headers.push(name, value);
  }
  return headers;
}

/**
 * One value per name, as HTTP/2 requires. It refuses lists for headers that may appear once. Repeated headers are joined with commas, which means the same
 * to every reader, except for cookies.
 */
export function headerMap(raw: readonly string[]): Record<string, string | string[]> {
  const map: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  for (let at = 0; at < raw.length; at += 2) {
    const name = (raw[at] ?? "").toLowerCase();
    const value = raw[at + 1] ?? "";
    const before = map[name];
    if (before === undefined) map[name] = value;
    else if (name !== "set-cookie") map[name] = `${String(before)}, ${value}`;
    else map[name] = [before, value].flat();
  }
  return map;
}

export function rawHeader(raw: readonly string[], wanted: string): string | undefined {
  for (let at = 0; at < raw.length; at += 2) if (raw[at]?.toLowerCase() === wanted) return raw[at + 1];
  return undefined;
}

function namedByConnection(raw: readonly string[]): ReadonlySet<string> {
  const named = new Set<string>();
  for (let at = 0; at < raw.length; at += 2) {
    if (raw[at]?.toLowerCase() !== "connection") continue;
    for (const token of (raw[at + 1] ?? "").split(",")) named.add(token.trim().toLowerCase());
  }
  // Naming these in Connection would remove what the request depends on.
  for (const needed of ["host", "content-length", "authorization", "cookie"]) named.delete(needed);
  return named;
}

const consoleNames: ReadonlySet<string> = new Set(Object.values(consoleCookies).flatMap((name) => [name, secureCookieName(name)]));

/** With the cookie of the console a sandbox could act as its user. Other cookies stay as they are. */
function withoutSession(cookies: string): string {
  if (!cookies.includes(consoleCookieMark)) return cookies;
  return cookies
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => !isSession(pair))
    .join("; ");
}

/** Of a cookie without a name browsers send the value alone, which may look like a name and a value. */
function isSession(cookie: string): boolean {
  const [name = ""] = cookie.replace(/^[\s=]+/, "").split("=", 1);
  return consoleNames.has(name.trim());
}
