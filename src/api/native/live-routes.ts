/**
 * Data of the native API for pages and reports: changes, numbers over time, files, usage, the audit log.
 *
 * - `change-feed-routes.ts`  one stream of all changes      - `event-stream.ts`  server-sent events
 * - `number-routes.ts`       numbers over time              - `file-routes.ts`   files of sandboxes
 * - `usage-routes.ts`        usage by team and user        - `audit-routes.ts`  the audit log
 * - `kept-terminal-routes.ts`  terminals that go on without a connection
 * - `csv-stream.ts`          tables for spreadsheets
 */
import type { ApiFace } from "../http/api-server.ts";
import { problemShape } from "../http/problem.ts";
import { auditRoutes, type AuditRoutesDeps } from "./audit-routes.ts";
import { changeFeedRoutes, type ChangeFeedRoutesDeps } from "./change-feed-routes.ts";
import { keptTerminalRoutes, type KeptTerminalRoutesDeps } from "./inside/kept-terminal-routes.ts";
import { fileRoutes, type FileRoutesDeps } from "./inside/file-routes.ts";
import { numberRoutes, type NumberRoutesDeps } from "./number-routes.ts";
import { registerRoutes } from "./register-routes.ts";
import type { Route } from "./route.ts";
import { usageRoutes, type UsageRoutesDeps } from "./usage-routes.ts";

export interface LiveServices
  extends
    ChangeFeedRoutesDeps,
    NumberRoutesDeps,
    Omit<FileRoutesDeps, "inside">,
    UsageRoutesDeps,
    AuditRoutesDeps,
    Omit<KeptTerminalRoutesDeps, "inside"> {
  readonly inside: FileRoutesDeps["inside"] & KeptTerminalRoutesDeps["inside"];
}

export function liveRoutes(services: LiveServices): readonly Route[] {
  return [
    ...fileRoutes(services),
    ...numberRoutes(services),
    ...changeFeedRoutes(services),
    ...usageRoutes(services),
    ...auditRoutes(services),
    ...keptTerminalRoutes(services),
  ];
}

export function liveFace(services: LiveServices): ApiFace {
  return { errors: problemShape, acceptsSessions: true, routes: (app) => registerRoutes(app, liveRoutes(services)) };
}
