/**
 * Headers on their way through: those that are about one connection stay there, all others go on exactly as they came, in order and
 * with their spelling. Raw headers are `[name, value, name, value, …]`.
 */
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

/** Only the gateway sets these: a client may not claim to be the gateway, and the two that route are of no use to the sandbox. */
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
  /** As the client named us. */
  readonly host: string;
  /** What the sandbox shall see as its host, where it shall not see that. */
  readonly mask?: string | undefined;
}

/** What goes to the sandbox. Undefined when the request is one that two readers could understand in two ways. */
export function requestHeaders(raw: readonly string[], { client, proto, host, mask }: Forwarded): string[] | undefined {
  if (isAmbiguous(raw)) return undefined;
  const named = namedByConnection(raw);
  const headers: string[] = ["Host", mask ?? host];
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] ?? "";
    const lower = name.toLowerCase();
    if (!isAboutConnection(lower, named) && !ours.has(lower)) headers.push(name, raw[at + 1] ?? "");
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

/** Host is written anew; what begins with a colon is HTTP/2's own. */
function isAboutConnection(lower: string, named: ReadonlySet<string>): boolean {
  return lower === "host" || lower.startsWith(":") || hopByHop.has(lower) || named.has(lower);
}

/** What goes back to the client. */
export function responseHeaders(raw: readonly string[]): string[] {
  const named = namedByConnection(raw);
  const headers: string[] = [];
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] ?? "";
    const lower = name.toLowerCase();
    if (!hopByHop.has(lower) && !named.has(lower)) headers.push(name, raw[at + 1] ?? "");
  }
  return headers;
}

/**
 * One value per name: for HTTP/2, which takes no list of pairs, and refuses lists for names that should come once. What comes several times
 * is one list with commas to every reader, except for cookies.
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
  // Naming these would take away what the request is made of.
  for (const needed of ["host", "content-length", "authorization", "cookie"]) named.delete(needed);
  return named;
}
