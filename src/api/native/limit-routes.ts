/** Limits: list and set them, with their usage. */
import type { FastifyInstance } from "fastify";
import type { Static } from "typebox";
import type { LimitService, LimitsOf } from "#services/limits/limit-service.ts";
import { registerRoutes } from "./register-routes.ts";
import { type Route, route } from "./route.ts";
import { changeLimitsSchema, limitSetSchema, limitSetsSchema, limitsQuery, teamParams, userParams } from "./schemas/limits.ts";

export function limitRoutes(app: FastifyInstance, limits: LimitService): void {
  registerRoutes(app, limitRouteList({ limits }));
}

export function limitRouteList({ limits }: { readonly limits: LimitService }): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/limits",
      name: "listLimits",
      summary: "List limits and their current usage",
      description:
        "A tenant sees the limits of its team; a user's key also sees those of the user. An admin sees the limits of the server, the defaults of all teams, and " +
        "the limits set for single teams and users.",
      query: limitsQuery,
      answers: [{ status: 200, description: "The limits.", schema: limitSetsSchema }],
      errors: [],
      handle: async ({ caller, query }) => ({ sets: limits.list(caller(), query) }),
    }),
    changeRoute(
      limits,
      { path: "/limits/server", name: "setServerLimits", summary: "Set limits of the server (admins)" },
      { of: "server" },
    ),
    changeRoute(
      limits,
      { path: "/limits/teams", name: "setTeamsLimits", summary: "Set the default limits of all teams (admins)" },
      { of: "teams" },
    ),
    route({
      method: "PATCH",
      path: "/limits/teams/{team}",
      name: "setTeamLimits",
      summary: "Set limits of one team (admins)",
      description: "They take precedence over the defaults of all teams.",
      params: teamParams,
      body: changeLimitsSchema,
      answers: [changed],
      errors: ["conflict"],
      handle: ({ caller, params, body }) => limits.set(caller(), { of: "team", team: params.team }, valuesOf(body)),
    }),
    route({
      method: "PATCH",
      path: "/limits/teams/{team}/users/{user}",
      name: "setUserLimits",
      summary: "Set limits of one user of a team (admins)",
      description: "They apply in addition to the team's limits. The user * stands for every user of the team without limits of its own.",
      params: userParams,
      body: changeLimitsSchema,
      answers: [changed],
      errors: ["conflict"],
      handle: ({ caller, params: { team, user }, body }) => limits.set(caller(), { of: "user", team, user }, valuesOf(body)),
    }),
    ...quotaRouteList({ limits }),
  ];
}

const changed = { status: 200, description: "All limits of this owner after the change.", schema: limitSetSchema } as const;

function changeRoute(limits: LimitService, about: Pick<Route, "path" | "name" | "summary">, owner: LimitsOf): Route {
  return route({
    method: "PATCH",
    ...about,
    body: changeLimitsSchema,
    answers: [changed],
    errors: ["conflict"],
    handle: ({ caller, body }) => limits.set(caller(), owner, valuesOf(body)),
  });
}

function valuesOf({ limits }: Static<typeof changeLimitsSchema>): Readonly<Record<string, number | null>> {
  return limits;
}

/** Usage of quotas: limits that are sums, without the others. */
function quotaRouteList({ limits }: { readonly limits: LimitService }): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/quotas",
      name: "listQuotas",
      summary: "Show the usage of quotas",
      description:
        "A team's key sees the team's quotas; a user's key also sees the user's. An admin sees those of the server and of the teams and users that have limits " +
        "of their own, or those of the team and user named in the query. PATCH /v1/limits/… sets them.",
      query: limitsQuery,
      answers: [{ status: 200, description: "The quotas.", schema: limitSetsSchema }],
      errors: [],
      handle: async ({ caller, query }) => ({ sets: limits.use(caller(), query) }),
    }),
  ];
}
