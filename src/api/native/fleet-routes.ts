/**
 * The native API beside sandboxes: pools, templates, Envs, statistics, the caller's identity, and the description of the whole API.
 *
 * - `pool-routes.ts`, `template-routes.ts`  the objects that sandboxes come from
 * - `key-routes.ts`       API keys                          - `limit-routes.ts`      limits, and how much of them is used
 * - `instance-type-routes.ts`  the catalogue of instance types
 * - `env-routes.ts`       Envs; `env-member-routes.ts`, `env-group-routes.ts` their parts
 * - `volume-routes.ts`   volumes
 * - `builds/build-routes.ts`  template builds              - `webhooks/webhook-routes.ts`  webhooks
 * - `live-routes.ts`     live data for pages and terminals
 * - `openapi.ts`          all routes as a document          - `openapi-schemas.ts`   … and their schemas
 */
import type { ApiFace } from "#api/http/api-server.ts";
import { problemShape } from "#api/http/problem.ts";
import { type InstanceTypeRoutesDeps, instanceTypeRouteList } from "./instance-type-routes.ts";
import { buildRoutes, type BuildRoutesDeps } from "./builds/build-routes.ts";
import { envRoutes, type EnvRoutesDeps } from "./envs/env-routes.ts";
import { keyRouteList } from "./key-routes.ts";
import { limitRouteList } from "./limit-routes.ts";
import { liveRoutes, type LiveServices } from "./live-routes.ts";
import { nativeRoutes, type NativeServices } from "./native-routes.ts";
import { type OpenApiDocument, openApiDocument } from "./openapi.ts";
import { poolRoutes, type PoolRoutesDeps } from "./pool-routes.ts";
import { registerRoutes } from "./register-routes.ts";
import { type Route, route } from "./route.ts";
import { volumeRoutes, type VolumeRoutesDeps } from "./volume-routes.ts";
import { templateRoutes, type TemplateRoutesDeps } from "./template-routes.ts";
import { webhookRoutes, type WebhookRoutesDeps } from "./webhooks/webhook-routes.ts";
import type { Caller } from "#services/caller.ts";
import type { SandboxStatistics } from "#services/reading/sandbox-statistics.ts";
import { statisticsQuery, statisticsSchema, whoamiSchema } from "./schemas/about.ts";

export interface FleetServices
  extends PoolRoutesDeps, TemplateRoutesDeps, AboutRoutesDeps, EnvRoutesDeps, VolumeRoutesDeps, BuildRoutesDeps, WebhookRoutesDeps {}

export function fleetRoutes(services: FleetServices): readonly Route[] {
  return [
    ...poolRoutes(services),
    ...templateRoutes(services),
    ...envRoutes(services),
    ...volumeRoutes(services),
    ...buildRoutes(services),
    ...webhookRoutes(services),
    ...aboutRoutes(services),
  ];
}

/** Also serves the OpenAPI document of the whole API. It needs no key, because it contains no tenant's data. */
export function fleetFace(services: FleetServices): ApiFace {
  return {
    errors: problemShape,
    acceptsSessions: true,
    routes: (app) => {
      const text = JSON.stringify(wholeApi());
      app.get("/openapi.json", { config: { public: true } }, (_request, reply) => reply.type("application/json").send(text));
      registerRoutes(app, fleetRoutes(services));
    },
  };
}

/** Everything under /v1. */
export function wholeApi(): OpenApiDocument {
  // No service is called: only the definitions of the routes are read.
  const noServices = {} as NativeServices &
    FleetServices &
    LiveServices &
    InstanceTypeRoutesDeps &
    Parameters<typeof keyRouteList>[0] &
    Parameters<typeof limitRouteList>[0];
  const access = [...keyRouteList(noServices), ...limitRouteList(noServices), ...instanceTypeRouteList(noServices)];
  return openApiDocument([...nativeRoutes(noServices), ...fleetRoutes(noServices), ...liveRoutes(noServices), ...access]);
}

/** Statistics, and the caller's identity. */
interface AboutRoutesDeps {
  readonly statistics: (caller: Caller, wanted: { readonly since?: string }) => Promise<SandboxStatistics>;
}

function aboutRoutes({ statistics }: AboutRoutesDeps): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/statistics/sandboxes",
      name: "countSandboxes",
      summary: "Count live and ended sandboxes",
      query: statisticsQuery,
      answers: [{ status: 200, description: "The numbers.", schema: statisticsSchema }],
      errors: ["timeout"],
      handle: ({ caller, query }) => statistics(caller(), query),
    }),
    route({
      method: "GET",
      path: "/auth/whoami",
      name: "whoAmI",
      summary: "Show the team and user that the key belongs to",
      description: "For an admin who acts as another team or user, it shows that team or user.",
      answers: [{ status: 200, description: "The caller.", schema: whoamiSchema }],
      errors: [],
      handle: async ({ caller }) => caller(),
    }),
  ];
}
