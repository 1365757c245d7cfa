import type { IncomingMessage, ServerResponse } from "node:http";

/** Lets pages of any origin call the daemon: the token decides. True if the request was only a CORS preflight. */
export function allowBrowsers(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.headers.origin === undefined) return false;
  response.setHeader("access-control-allow-origin", "*");
  response.setHeader("access-control-expose-headers", "*");
  if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined) return false;
  const headers = request.headers["access-control-request-headers"];
  response.writeHead(204, {
    "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS",
    ...(headers === undefined ? {} : { "access-control-allow-headers": headers }),
    "access-control-max-age": "7200",
    vary: "origin, access-control-request-method, access-control-request-headers",
  });
  response.end();
  return true;
}
