/** Answers requests without a route: lists the methods of the path, or the existing paths. */
import type { FastifyInstance } from "fastify";
import { httpStatus } from "./status.ts";
import { answerFailure, type ErrorShape } from "./error-shape.ts";
import { badRequest, type Failure } from "./failure.ts";

export interface KnownRoutes {
  readonly list: () => readonly KnownRoute[];
}

interface KnownRoute {
  readonly path: readonly string[];
  readonly method: string;
}

/** Remembers every route that is added from here on. */
export function rememberRoutes(app: FastifyInstance): KnownRoutes {
  const routes: KnownRoute[] = [];
  app.addHook("onRoute", ({ url, method }) => {
    for (const one of [method].flat()) routes.push({ path: url.split("/"), method: one });
  });
  return { list: () => routes };
}

export function answerUnknownRoutes(app: FastifyInstance, routes: KnownRoutes, shape: ErrorShape): void {
  app.setNotFoundHandler((request, reply) => answerFailure(reply, unknownRoute(routes, request.url, request.method), shape));
}

function unknownRoute(routes: KnownRoutes, url: string, method: string): Failure {
  const path = (url.split("?", 1)[0] ?? "").split("/");
  const allow = [...new Set(routes.list().flatMap((route) => (fits(route.path, path) ? [route.method] : [])))].sort();
  if (allow.length > 0) return badRequest(`method ${method} is not allowed here; allowed: ${allow.join(", ")}`, { status: 405, allow });
  const available = [...new Set(routes.list().flatMap((route) => firstParts(route.path)))].sort();
  return {
    status: httpStatus.not_found,
    code: "not_found",
    message: "unknown path",
    details: { available },
    defect: false,
  };
}

function fits(pattern: readonly string[], path: readonly string[]): boolean {
  const parts = pattern.at(-1) === "*" ? path.slice(0, pattern.length) : path;
  if (pattern.length !== parts.length) return false;
  return pattern.every((part, index) => part === "*" || (part.startsWith(":") ? parts[index] !== "" : part === parts[index]));
}

/** Enough for orientation: `/v1/sandboxes`, not each of its actions. */
function firstParts(path: readonly string[]): readonly string[] {
  const fixed = path.slice(0, 3);
  const end = fixed.findIndex((part) => part.startsWith(":") || part === "*");
  const shown = (end === -1 ? fixed : fixed.slice(0, end)).join("/");
  return shown === "" ? [] : [shown];
}
