/** Envs: see, make, replace, refresh and delete them. Their members and groups: `env-member-routes.ts`, `env-group-routes.ts`. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { EnvService } from "#services/envs/env-service.ts";
import { noteSubject } from "#api/http/observe-requests.ts";
import { requestSignal } from "#api/http/request-signal.ts";
import { envGroupRoutes } from "./env-group-routes.ts";
import { envMemberRoutes } from "./env-member-routes.ts";
import { envParams, meantEnv } from "./env-paths.ts";
import { type Route, route } from "#api/native/route.ts";
import {
  clustersSchema,
  createEnvSchema,
  deleteEnvQuery,
  envEventsSchema,
  envListQuery,
  envPageSchema,
  envQuery,
  envSchema,
  refreshQuery,
  refreshSchema,
  replaceEnvSchema,
} from "#api/native/schemas/envs.ts";

export interface EnvRoutesDeps {
  readonly envs: EnvService;
}

const asItIs = { status: 200, description: "The Env as it is now.", schema: envSchema } as const;

export function envRoutes({ envs }: EnvRoutesDeps): readonly Route[] {
  return [...readEnvs(envs), ...writeEnvs(envs), ...envMemberRoutes(envs), ...envGroupRoutes(envs), clusterRoute(envs)];
}

function readEnvs(envs: EnvService): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/envs",
      name: "listEnvs",
      summary: "List the Envs, sorted by name",
      query: envListQuery,
      answers: [{ status: 200, description: "One page of the list.", schema: envPageSchema }],
      errors: [],
      handle: async ({ caller, query }) => {
        const { items, next } = await envs.list(caller(), query);
        return { envs: items, ...withoutUndefined({ next }) };
      },
    }),
    route({
      method: "GET",
      path: "/envs/{envName}",
      name: "getEnv",
      summary: "An Env",
      params: envParams,
      query: envQuery,
      answers: [asItIs],
      errors: ["not_found", "conflict"],
      handle: ({ caller, params, query }) => envs.get(caller(), meantEnv(params, query)),
    }),
    route({
      method: "GET",
      path: "/envs/{envName}/events",
      name: "listEnvEvents",
      summary: "List recent events of an Env and its pools, newest first",
      params: envParams,
      query: envQuery,
      answers: [{ status: 200, description: "What happened.", schema: envEventsSchema }],
      errors: ["not_found", "conflict"],
      handle: async ({ caller, params, query }) => ({ events: await envs.events(caller(), meantEnv(params, query)) }),
    }),
  ];
}

function writeEnvs(envs: EnvService): readonly Route[] {
  return [
    createEnv(envs),
    route({
      method: "PUT",
      path: "/envs/{envName}",
      name: "replaceEnv",
      summary: "Replace an Env",
      description:
        "With metadata.resourceVersion, the Env is replaced only if it still has this version. Fields that the body leaves out are removed, except members " +
        "of other clusters and image pull credentials. Replicas set by an autoscaler do not change. Pools of members whose size, " +
        "labels, annotations or overrides change are rendered anew; a change of templateRef reaches pools with a refresh.",
      params: envParams,
      query: envQuery,
      body: replaceEnvSchema,
      answers: [asItIs],
      errors: ["not_found", "conflict", "too_large", "limit_reached"],
      handle: ({ caller, params, query, body, reply }) => envs.replace(caller(), meantEnv(params, query), body, requestSignal(reply)),
    }),
    deleteEnv(envs),
    refreshEnv(envs),
  ];
}

function createEnv(envs: EnvService): Route {
  return route({
    method: "POST",
    path: "/envs",
    name: "createEnv",
    summary: "Make an Env",
    description:
      "An admin's Env serves all tenants, unless its labels name an owner. A tenant's Env serves only that tenant; its template must be visible to the tenant. The " +
      "names of the Env and of its pools end in a suffix that the server adds: use the names in the answer. The server makes the snapshots of " +
      "members (metadata and spec, except replicas) itself and ignores those in the body.",
    body: createEnvSchema,
    answers: [{ status: 201, description: "The Env was created; its pools are being created.", schema: envSchema }],
    errors: ["conflict", "too_large", "limit_reached"],
    handle: async ({ caller, body, request, reply }) => {
      const env = await envs.create(caller(), body, requestSignal(reply));
      const { name = "" } = env.metadata;
      noteSubject(request, { envName: name });
      reply.header("location", `/v1/envs/${name}`);
      return env;
    },
  });
}

function deleteEnv(envs: EnvService): Route {
  return route({
    method: "DELETE",
    path: "/envs/{envName}",
    name: "deleteEnv",
    summary: "Delete an Env with its pools",
    description: "The Env stays until its running sandboxes have ended, unless endSandboxes is true. Adopted pools are kept.",
    params: envParams,
    query: deleteEnvQuery,
    answers: [{ status: 202, description: "Deletion has started, or was already complete." }],
    errors: ["not_found", "conflict"],
    handle: ({ caller, params, query }) => envs.delete(caller(), meantEnv(params, query), query.endSandboxes === true),
  });
}

function refreshEnv(envs: EnvService): Route {
  return route({
    method: "POST",
    path: "/envs/{envName}/refresh",
    name: "refreshEnv",
    summary: "Update members of an Env to the current version of its template",
    description:
      "With dryRun=true, only reports what would change. Either all requested members change or none. Pools then roll out the change to " +
      "their idle pods; running sandboxes are not affected.",
    params: envParams,
    query: refreshQuery,
    answers: [{ status: 200, description: "What changes.", schema: refreshSchema }],
    errors: ["not_found", "conflict"],
    handle: ({ caller, params, query, reply }) => {
      const { member, dryRun = false } = query;
      return envs.refresh(caller(), { wanted: meantEnv(params, query), member, dryRun }, requestSignal(reply));
    },
  });
}

function clusterRoute(envs: EnvService): Route {
  return route({
    method: "GET",
    path: "/clusters",
    name: "listClusters",
    summary: "List the clusters for members of Envs, this server's own first",
    answers: [{ status: 200, description: "All known clusters.", schema: clustersSchema }],
    errors: [],
    handle: async ({ caller }) => ({ clusters: await envs.clusters(caller()) }),
  });
}
