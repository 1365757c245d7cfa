/**
 * The native API: all its routes in one list, for the server and for the OpenAPI document. Each file translates and decides nothing:
 * it parses, calls one use case, and presents.
 *
 * - `route.ts`            what a route is                   - `register-routes.ts`  … and how it is served
 * - `validate-request.ts` checks requests against the schemas
 * - `sandbox-routes.ts`   see and end sandboxes             - `sandbox-body.ts`     how one is shown
 * - `create-routes.ts`    make them                         - `create-command.ts`   what a request for one means
 * - `change-routes.ts`    timeouts, pause and resume        - `watch-routes.ts`     one as it changes
 * - `log-routes.ts`       what they have written            - `log-lines.ts`        bytes as lines
 * - `exec-routes.ts`      commands in them                  - `exec-body.ts`        how they ended
 * - `exec-stream.ts`      … with their bytes as they come   - `terminal.ts`         … and a person at one
 * - `command-end.ts`      … that could not be run
 * - `schemas/`            the form of everything that is sent and answered
 */
import type { ApiFace } from "../http/api-server.ts";
import { problemShape } from "../http/problem.ts";
import { changeRoutes, type ChangeRoutesDeps } from "./sandboxes/change-routes.ts";
import { createRoutes } from "./sandboxes/create-routes.ts";
import { execRoutes, type ExecRoutesDeps } from "./inside/exec-routes.ts";
import { logRoutes, type LogRoutesDeps } from "./sandboxes/log-routes.ts";
import { registerRoutes } from "./register-routes.ts";
import type { Route } from "./route.ts";
import { sandboxRoutes, type SandboxRoutesDeps } from "./sandboxes/sandbox-routes.ts";
import { watchRoutes, type WatchRoutesDeps } from "./sandboxes/watch-routes.ts";

export interface NativeServices extends SandboxRoutesDeps, ChangeRoutesDeps, ExecRoutesDeps, LogRoutesDeps, WatchRoutesDeps {}

export function nativeRoutes(services: NativeServices): readonly Route[] {
  return [
    ...sandboxRoutes(services),
    ...createRoutes(services),
    ...changeRoutes(services),
    ...execRoutes(services),
    ...logRoutes(services),
    ...watchRoutes(services),
  ];
}

export function nativeFace(services: NativeServices): ApiFace {
  return { errors: problemShape, acceptsSessions: true, routes: (app) => registerRoutes(app, nativeRoutes(services)) };
}
