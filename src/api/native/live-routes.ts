/**
 * Live data of the native API for pages and terminals: changes, numbers over time, files.
 *
 * - `change-feed-routes.ts`  one stream of all changes      - `event-stream.ts`  server-sent events
 * - `number-routes.ts`       numbers over time              - `file-routes.ts`   files of sandboxes
 */
import type { ApiFace } from "../http/api-server.ts";
import { problemShape } from "../http/problem.ts";
import { changeFeedRoutes, type ChangeFeedRoutesDeps } from "./change-feed-routes.ts";
import { fileRoutes, type FileRoutesDeps } from "./inside/file-routes.ts";
import { numberRoutes, type NumberRoutesDeps } from "./number-routes.ts";
import { registerRoutes } from "./register-routes.ts";
import type { Route } from "./route.ts";

export interface LiveServices extends ChangeFeedRoutesDeps, NumberRoutesDeps, FileRoutesDeps {}

export function liveRoutes(services: LiveServices): readonly Route[] {
  return [...fileRoutes(services), ...numberRoutes(services), ...changeFeedRoutes(services)];
}

export function liveFace(services: LiveServices): ApiFace {
  return { errors: problemShape, acceptsSessions: true, routes: (app) => registerRoutes(app, liveRoutes(services)) };
}
