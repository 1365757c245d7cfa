/**
 * The native API: all its routes in one list, for the server and for the OpenAPI document. The files of routes decide nothing: they parse, call one use
 * case, and present.
 *
 * - `route.ts`            what a route is                   - `register-routes.ts`  … and how it is served
 * - `validate-request.ts` checks requests against the schemas
 * - `sandbox-routes.ts`   read and end sandboxes            - `sandbox-body.ts`     a sandbox as JSON
 * - `create-routes.ts`    create them                       - `create-command.ts`   a request as a command
 * - `change-routes.ts`    timeouts, pause and resume        - `watch-routes.ts`     watch one sandbox
 * - `log-routes.ts`       their logs                        - `log-lines.ts`        bytes as lines
 * - `exec-routes.ts`      commands in them                  - `exec-body.ts`        the result of a command
 * - `exec-stream.ts`      … with streamed input and output  - `terminal.ts`         … in a terminal
 * - `command-end.ts`      … that failed
 * - `checkpoints/`         keep their files, and fork them
 * - `schemas/`            schemas of all requests and answers
 */
import type { ApiFace } from "../http/api-server.ts";
import { problemShape } from "../http/problem.ts";
import { checkpointRoutes, type CheckpointRoutesDeps } from "./checkpoints/checkpoint-routes.ts";
import { changeRoutes, type ChangeRoutesDeps } from "./sandboxes/change-routes.ts";
import { createRoutes } from "./sandboxes/create-routes.ts";
import { execRoutes, type ExecRoutesDeps } from "./inside/exec-routes.ts";
import { logRoutes, type LogRoutesDeps } from "./sandboxes/log-routes.ts";
import { registerRoutes } from "./register-routes.ts";
import type { Route } from "./route.ts";
import { sandboxRoutes, type SandboxRoutesDeps } from "./sandboxes/sandbox-routes.ts";
import { watchRoutes, type WatchRoutesDeps } from "./sandboxes/watch-routes.ts";

export interface NativeServices
  extends SandboxRoutesDeps, ChangeRoutesDeps, ExecRoutesDeps, LogRoutesDeps, WatchRoutesDeps, CheckpointRoutesDeps {}

export function nativeRoutes(services: NativeServices): readonly Route[] {
  return [
    ...sandboxRoutes(services),
    ...createRoutes(services),
    ...changeRoutes(services),
    ...execRoutes(services),
    ...logRoutes(services),
    ...watchRoutes(services),
    ...checkpointRoutes(services),
  ];
}

export function nativeFace(services: NativeServices): ApiFace {
  return { errors: problemShape, acceptsSessions: true, routes: (app) => registerRoutes(app, nativeRoutes(services)) };
}
