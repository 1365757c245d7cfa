/** Limits: see them with what is used, and set them. */
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
      summary: "Limits, and what is used of them",
      description:
        "A tenant sees those of its team, and a user's key also those of the user; an admin the server's, those that every team has, and those of " +
        "teams and users that have some of their own.",
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
      { path: "/limits/teams", name: "setTeamsLimits", summary: "Set limits that every team has (admins)" },
      { of: "teams" },
    ),
    route({
      method: "PATCH",
      path: "/limits/teams/{team}",
      name: "setTeamLimits",
      summary: "Set limits of one team (admins)",
      description: "They go before those that every team has.",
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
      description: "They hold beside those of the team. The user * is every user of the team that has none of its own.",
      params: userParams,
      body: changeLimitsSchema,
      answers: [changed],
      errors: ["conflict"],
      handle: ({ caller, params: { team, user }, body }) => limits.set(caller(), { of: "user", team, user }, valuesOf(body)),
    }),
    ...quotaRouteList({ limits }),
  ];
}

const changed = { status: 200, description: "All limits of it, as they are now.", schema: limitSetSchema } as const;

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

/** What is used of quotas: limits that add up, without those that do not. */
function quotaRouteList({ limits }: { readonly limits: LimitService }): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/quotas",
      name: "listQuotas",
      summary: "What is used of quotas",
      description:
        "A key of a team sees the team's, a user's key also its own; an admin sees the server's and those of teams and users that have limits " +
        "of their own, or those of the team and user that it names. PATCH /v1/limits/… sets them.",
      query: limitsQuery,
      answers: [{ status: 200, description: "The quotas.", schema: limitSetsSchema }],
      errors: [],
      handle: async ({ caller, query }) => ({ sets: limits.use(caller(), query) }),
    }),
  ];
}
