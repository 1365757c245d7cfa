/** Answers of the gateway itself: JSON as E2B's clients expect it, or a page for a person at a browser. */
import type { SandboxRecord } from "#model/sandbox-record.ts";

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>> & { readonly message: string };
  readonly headers?: Readonly<Record<string, string>>;
}

/** Clients look for this message. If it is known how the sandbox ended, that is added beside it. */
export function notFound(sandboxId: string, ended?: SandboxRecord): Answer {
  const body = { sandboxId, message: "The sandbox was not found", code: 502 };
  if (ended?.terminatedAt === undefined) return { status: 502, body };
  const { failureReason, stopReason, terminatedAt } = ended;
  const cause = failureReason ?? stopReason ?? "";
  return { status: 502, body: { ...body, endedAt: terminatedAt, cause, detail: `It ended at ${terminatedAt} (${cause}).` } };
}

export function paused(sandboxId: string): Answer {
  return { status: 502, body: { sandboxId, message: "The sandbox is paused", code: 502, detail: "Connect to it or resume it first." } };
}

export function closedPort(sandboxId: string, port: number): Answer {
  const detail = `No program in the sandbox answers on port ${port}. Has the program been started?`;
  return { status: 502, body: { sandboxId, message: "The sandbox is running but port is not open", port, code: 502, detail } };
}

export function brokenAnswer(sandboxId: string, port: number): Answer {
  const message = "The program in the sandbox ended the connection without an answer, or its answer is not HTTP";
  return { status: 502, body: { sandboxId, message, port, code: 502 } };
}

export function inTransition(sandboxId: string, message: string): Answer {
  return { status: 409, body: { sandboxId, message, code: 409 }, headers: { "retry-after": "1" } };
}

export function badRequest(message: string): Answer {
  return { status: 400, body: { message, code: 400 } };
}

/** Names the limit, so that an operator knows which one to change. */
export function tooManyOpen(limit: number, sandboxId?: string): Answer {
  const owner = sandboxId === undefined ? "This gateway" : "The sandbox";
  const message = `${owner} reached the limit of ${limit} open requests and connections on this server: try again later`;
  const body = { ...(sandboxId === undefined ? {} : { sandboxId }), message, code: 429 };
  return { status: 429, body, headers: { "retry-after": "1" } };
}

/** A limit that an admin may raise. */
export function tooManyOfTeam(limit: number, team: string): Answer {
  const message = `The sandboxes of team ${team} reached the team's limit of ${limit} open requests and connections (limit connections): try again later`;
  return { status: 429, body: { message, code: 429 }, headers: { "retry-after": "1" } };
}

/** E2B's SDKs try every request again after a 503; one that may have been served, such as a create, would then be done twice. */
export function apiUnreachable(mayRetry = true): Answer {
  const headers = mayRetry ? { "retry-after": "1" } : { "should-retry": "false" };
  const message = mayRetry ? "The API is not available now" : "The connection to the API broke off; the request may have been served";
  return { status: 503, body: { message, code: 503 }, headers };
}

export function forbidden(sandboxId: string, message: string): Answer {
  return { status: 403, body: { sandboxId, message, code: 403 } };
}

export function noSuchRoute(path: string): Answer {
  return { status: 404, body: { message: `unknown path ${path}`, code: 404 } };
}

/** Headers that tell a person at a browser from a program. */
export interface Reader {
  readonly method: string;
  readonly accept?: string | undefined;
  readonly userAgent?: string | undefined;
  /** `Sec-Fetch-Dest`: what a browser wants the answer for. */
  readonly destination?: string | undefined;
}

const browsers = /mozilla|chrome|safari|firefox|edge|opera|msie/i;
const documents: ReadonlySet<string> = new Set(["document", "frame", "iframe"]);

/** True for a browser navigation. Programs get JSON, also those that run in a page. */
export function isForPeople({ method, accept, userAgent = "", destination = "document" }: Reader): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  const kinds = new Set((accept ?? "").split(",").map((kind) => kind.split(";", 1)[0]?.trim() ?? ""));
  if (kinds.has("text/html")) return true;
  return browsers.test(userAgent) && documents.has(destination) && !kinds.has("application/json");
}

export interface Encoded {
  readonly type: string;
  readonly text: string;
}

export function encode({ status, body }: Answer, forPeople: boolean): Encoded {
  if (!forPeople) return { type: "application/json; charset=utf-8", text: JSON.stringify(body) };
  const { sandboxId, detail } = body;
  const about = typeof sandboxId === "string" ? `<p>Sandbox <code>${escaped(sandboxId)}</code></p>` : "";
  const more = typeof detail === "string" ? `<p>${escaped(detail)}</p>` : "";
  const text = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(body.message)}</title><style>body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1rem;color:#222}code{background:#eee;padding:.1em .3em;border-radius:3px}small{color:#777}</style></head><body><h1>${escaped(body.message)}</h1>${about}${more}<small>${status} · AgentBox</small></body></html>`;
  return { type: "text/html; charset=utf-8", text };
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");
}
