/**
 * The native API beside sandboxes: pools, templates, numbers, who asks, and what the whole API is like.
 *
 * - `pool-routes.ts`, `template-routes.ts`  the objects that sandboxes come from
 * - `about-routes.ts`     numbers, and who asks             - `key-routes.ts`        API keys
 * - `openapi.ts`          all routes as a document          - `openapi-schemas.ts`   … and their schemas
 */
import type { ApiFace } from "../http/api-server.ts";
import { problemShape } from "../http/problem.ts";
import { aboutRoutes, type AboutRoutesDeps } from "./about-routes.ts";
import { keyRouteList } from "./key-routes.ts";
import { nativeRoutes, type NativeServices } from "./native-routes.ts";
import { type OpenApiDocument, openApiDocument } from "./openapi.ts";
import { poolRoutes, type PoolRoutesDeps } from "./pool-routes.ts";
import { registerRoutes } from "./register-routes.ts";
import type { Route } from "./route.ts";
import { templateRoutes, type TemplateRoutesDeps } from "./template-routes.ts";

export interface FleetServices extends PoolRoutesDeps, TemplateRoutesDeps, AboutRoutesDeps {}

export function fleetRoutes(services: FleetServices): readonly Route[] {
  return [...poolRoutes(services), ...templateRoutes(services), ...aboutRoutes(services)];
}

/** Also serves the document about all of the API, to everybody: it tells nothing of anybody's. */
export function fleetFace(services: FleetServices): ApiFace {
  return {
    errors: problemShape,
    routes: (app) => {
      const text = JSON.stringify(wholeApi());
      app.get("/openapi.json", { config: { public: true } }, (_request, reply) => reply.type("application/json").send(text));
      registerRoutes(app, fleetRoutes(services));
    },
  };
}

/** Everything under /v1. */
export function wholeApi(): OpenApiDocument {
  // Nothing of it is called: only what the routes say of themselves is read.
  const nobody = {} as NativeServices & FleetServices & Parameters<typeof keyRouteList>[0];
  return openApiDocument([...nativeRoutes(nobody), ...fleetRoutes(nobody), ...keyRouteList(nobody)]);
}
