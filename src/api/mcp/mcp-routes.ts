/**
 * `/mcp`: MCP's streamable HTTP. Every request stands alone in every protocol version, so any process can answer it. A session is only a name: clients
 * whose version has sessions get one, and DELETE ends the sandboxes created under it.
 */
import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { mcpLimits } from "#mcp/limits.ts";
import type { McpHttp } from "#mcp/mcp-http.ts";
import { isSessionId } from "#mcp/session-mark.ts";
import type { McpSession } from "#mcp/tool.ts";
import { ServiceError } from "#services/service-error.ts";
import { callerOf } from "../http/caller-of.ts";
import { requestSignal, streamSignal } from "../http/request-signal.ts";
import { enterAs } from "../http/team-gate.ts";

export interface McpRoutesDeps<Context> {
  /** Called with the first request: the MCP library is large, and most servers never need it. */
  readonly load: () => Promise<McpHttp<Context>>;
  readonly contextOf: (request: FastifyRequest, session: McpSession, signal: AbortSignal) => Context;
  readonly endSession: (request: FastifyRequest, session: string) => Promise<void>;
  /** Host names of this server, without ports; left out: any. A web page may point a DNS name of its own at a server of this machine. */
  readonly hosts?: readonly string[] | undefined;
}

const path = "/mcp";

export function mcpRoutes<Context>(app: FastifyInstance, deps: McpRoutesDeps<Context>): void {
  let loaded: Promise<McpHttp<Context>> | undefined;
  const handler = (): Promise<McpHttp<Context>> => (loaded ??= deps.load());
  app.addHook("onClose", async () => await (await loaded)?.close());
  app.addHook("onRequest", async (request) => checkPlace(request, deps.hosts));
  // Passed on unparsed: the protocol has its own form for errors in the body.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer", bodyLimit: mcpLimits.requestBody }, (_request, body, done) => done(null, body));
  app.route({
    method: ["GET", "POST"],
    url: path,
    bodyLimit: mcpLimits.requestBody,
    handler: async (request, reply) => {
      const session = sessionOf(request);
      const body = Buffer.isBuffer(request.body) ? request.body : undefined;
      // The first message was counted with the request.
      enterAs(callerOf(request), reply, checkedLength(messagesIn(body)) - 1);
      const signal = methodIn(body) === "subscriptions/listen" ? streamSignal(request, reply) : requestSignal(reply);
      const response = await (await handler()).answer(webRequest(request, body, signal), deps.contextOf(request, session, signal));
      if (methodIn(body) === "initialize" && response.ok) reply.header("mcp-session-id", session.id ?? randomUUID());
      return send(reply, response);
    },
  });
  app.delete(path, async (request, reply) => {
    const { id } = sessionOf(request);
    if (id === undefined)
      throw new ServiceError("invalid_request", "name the session to end in the header Mcp-Session-Id", { field: "header.mcp-session-id" });
    await deps.endSession(request, id);
    return reply.code(204).send();
  });
}

/** Browsers send the origin of the page, and the host name that it used. */
function checkPlace({ headers }: FastifyRequest, hosts: readonly string[] | undefined): void {
  const host = headers.host ?? "";
  if (hosts !== undefined && !hosts.includes(host.replace(/:\d+$/, "").toLowerCase())) {
    throw new ServiceError("forbidden", `unknown host ${JSON.stringify(host)}: use ${hosts.join(", ")}`, {
      field: "header.host",
    });
  }
  if (headers.origin !== undefined && URL.parse(headers.origin)?.host !== host) {
    throw new ServiceError("forbidden", "pages of other servers may not use MCP", { field: "header.origin" });
  }
}

function sessionOf(request: FastifyRequest): McpSession {
  const id = request.headers["mcp-session-id"];
  if (id !== undefined && (typeof id !== "string" || !isSessionId(id))) {
    throw new ServiceError("invalid_request", "Mcp-Session-Id must have 8 to 64 letters, digits and dashes", {
      field: "header.mcp-session-id",
    });
  }
  const query = request.query as Readonly<Record<string, unknown>>;
  return { id, keep: isOn(query, "keep"), readOnly: isOn(query, "readOnly") };
}

function isOn(query: Readonly<Record<string, unknown>>, name: string): boolean {
  const value = query[name];
  if (value === undefined || value === "false") return false;
  if (value === "true" || value === "") return true;
  throw new ServiceError("invalid_request", `${name} must be true or false`, { field: `query.${name}` });
}

const openingBracket = "[".charCodeAt(0);
const isSpace = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/** Clients of one version may send a list of messages: each counts as one request. */
function messagesIn(body: Buffer | undefined): number {
  if (body?.find((byte) => !isSpace(byte)) !== openingBracket) return 1;
  try {
    return (JSON.parse(body.toString("utf8")) as readonly unknown[]).length;
  } catch {
    return 1;
  }
}

/** All of a list are answered in one go, in which the server does nothing else. */
function checkedLength(messages: number): number {
  if (messages <= mcpLimits.messages) return messages;
  const message = `a list may have at most ${mcpLimits.messages} messages, not ${messages}: send the others in another request`;
  throw new ServiceError("invalid_request", message);
}

/** Longer bodies are uploads. */
const longestOpening = 64 * 1024;

/** The id of a request that opens something; undefined if it cannot be one. */
function methodIn(body: Buffer | undefined): unknown {
  if (body === undefined || body.length > longestOpening) return undefined;
  try {
    return (JSON.parse(body.toString("utf8")) as { readonly method?: unknown } | null)?.method;
  } catch {
    return undefined;
  }
}

function webRequest(request: FastifyRequest, body: Buffer | undefined, signal: AbortSignal): Request {
  const { method } = request;
  const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
    // The key is not needed any more, and the length must be that of the bytes below.
    value === undefined || keyHeaders.has(name) ? [] : [value].flat().map((one) => [name, one]),
  );
  const content = body === undefined || method === "GET" ? {} : { body: new Uint8Array(body) };
  return new Request(`http://agentbox${path}`, { method, headers, signal, ...content });
}

const keyHeaders: ReadonlySet<string> = new Set(["authorization", "x-api-key", "agentbox-api-key", "content-length", "connection", "host"]);

function send(reply: FastifyReply, response: Response): FastifyReply {
  reply.code(response.status);
  for (const [name, value] of response.headers) reply.header(name, value);
  if (response.body === null) return reply.send();
  reply.header("x-accel-buffering", "no");
  return reply.send(Readable.fromWeb(response.body));
}
