/**
 * The web console: its page and files, and signing in (session-routes.ts). The page reads its data from the native API, like every client.
 *
 * Any path below /console answers with the page, which interprets the rest of the path. The page may load scripts from this server only and connect to
 * this server only; only code from files of the build runs in it.
 */
import { randomBytes } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ServiceError } from "#services/service-error.ts";
import type { ApiFace } from "../http/api-server.ts";
import { problemShape } from "../http/problem.ts";
import { type ConsoleFile, type ConsoleFiles, styleNonceMark } from "./console-files.ts";
import { type SessionDeps, sessionRoutes } from "./session-routes.ts";

export interface ConsoleDeps extends SessionDeps {
  readonly files: ConsoleFiles;
}

const yearSeconds = 31_536_000;

export function consoleFace(deps: ConsoleDeps): ApiFace {
  return {
    errors: problemShape,
    routes: (app) => {
      pageRoutes(app, deps);
      sessionRoutes(app, deps);
    },
  };
}

function pageRoutes(app: FastifyInstance, { files }: ConsoleDeps): void {
  const page = async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const nonce = randomBytes(16).toString("base64url");
    const text = (await files.page()).replaceAll(styleNonceMark, nonce);
    return reply.headers({ ...pageHeaders(nonce), "content-type": "text/html; charset=utf-8" }).send(text);
  };
  const config = { public: true };
  for (const path of ["/", "/console", "/console/*"]) app.get(path, { config }, page);
  app.get("/console/assets/:name", { config }, async (request, reply) => {
    const { name } = request.params as { readonly name: string };
    const file = await files.asset(name);
    if (file === undefined) throw new ServiceError("not_found", "no such file: reload the page");
    return sendFile(request, reply, file);
  });
}

/** Terminal and editor add style elements of their own, which the nonce allows. */
function pageHeaders(nonce: string): Readonly<Record<string, string>> {
  return {
    "content-security-policy": [
      "default-src 'none'",
      "script-src 'self'",
      `style-src 'self' 'nonce-${nonce}'`,
      // Terminal cells have their colours as attributes; page text is never inserted as HTML.
      "style-src-attr 'unsafe-inline'",
      "img-src 'self' data: blob:",
      "font-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; "),
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
  };
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: ConsoleFile): FastifyReply {
  const accepted = request.headers["accept-encoding"] ?? "";
  reply.headers({
    "content-type": file.contentType,
    "cache-control": `public, max-age=${yearSeconds}, immutable`,
    "cross-origin-resource-policy": "same-origin",
    vary: "accept-encoding",
  });
  if (file.brotli !== undefined && /\bbr\b/.test(accepted)) return reply.header("content-encoding", "br").send(file.brotli);
  if (file.gzip !== undefined && /\bgzip\b/.test(accepted)) return reply.header("content-encoding", "gzip").send(file.gzip);
  return reply.send(file.bytes);
}
