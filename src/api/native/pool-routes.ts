/** Pools: read, create, replace, scale and delete them. */
import { Type } from "typebox";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { text } from "#model/schema-builders.ts";
import type { PoolName, PoolService } from "#services/pools/pool-service.ts";
import { noteSubject } from "../http/observe-requests.ts";
import { type Route, route } from "./route.ts";
import { eventsSchema, poolListQuery, poolPageSchema, poolQuery, poolSchema, scaleSchema } from "./schemas/objects.ts";

export interface PoolRoutesDeps {
  readonly pools: PoolService;
}

const poolParams = Type.Object({ poolName: text("The name of a pool.") });
const asItIs = { status: 200, description: "The pool as it is now.", schema: poolSchema } as const;

export function poolRoutes({ pools }: PoolRoutesDeps): readonly Route[] {
  return [...readPools(pools), ...writePools(pools)];
}

function readPools(pools: PoolService): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/pools",
      name: "listPools",
      summary: "List the pools, sorted by name",
      query: poolListQuery,
      answers: [{ status: 200, description: "One page of the list.", schema: poolPageSchema }],
      errors: [],
      handle: async ({ caller, query }) => {
        const { items, next } = await pools.list(caller(), query);
        return { pools: items, ...withoutUndefined({ next }) };
      },
    }),
    route({
      method: "GET",
      path: "/pools/{poolName}",
      name: "getPool",
      summary: "A pool",
      params: poolParams,
      query: poolQuery,
      answers: [asItIs],
      errors: ["not_found", "conflict"],
      handle: ({ caller, params, query }) => pools.get(caller(), meant(params, query)),
    }),
    route({
      method: "GET",
      path: "/pools/{poolName}/events",
      name: "listPoolEvents",
      summary: "List recent events of a pool, newest first",
      params: poolParams,
      query: poolQuery,
      answers: [{ status: 200, description: "What happened.", schema: eventsSchema }],
      errors: ["not_found", "conflict"],
      handle: async ({ caller, params, query }) => ({ events: await pools.events(caller(), meant(params, query)) }),
    }),
  ];
}

function writePools(pools: PoolService): readonly Route[] {
  return [
    createPool(pools),
    route({
      method: "PUT",
      path: "/pools/{poolName}",
      name: "replacePool",
      summary: "Replace a pool",
      description:
        "With metadata.resourceVersion, the pool is replaced only if it still has this version. Fields that the body leaves out are removed.",
      params: poolParams,
      query: poolQuery,
      body: poolSchema,
      answers: [asItIs],
      errors: ["not_found", "conflict", "too_large", "limit_reached"],
      handle: ({ caller, params, query, body }) => pools.replace(caller(), meant(params, query), body),
    }),
    route({
      method: "PUT",
      path: "/pools/{poolName}/scale",
      name: "scalePool",
      summary: "Change how many pods a pool has",
      params: poolParams,
      query: poolQuery,
      body: scaleSchema,
      answers: [asItIs],
      errors: ["not_found", "conflict", "limit_reached"],
      fieldOf: (field) => (field === "spec.replicas" ? "replicas" : field),
      handle: ({ caller, params, query, body }) => pools.scale(caller(), meant(params, query), body.replicas),
    }),
    route({
      method: "DELETE",
      path: "/pools/{poolName}",
      name: "deletePool",
      summary: "Delete a pool with all its sandboxes",
      description: "The history gets a record of each sandbox before its pod is deleted.",
      params: poolParams,
      query: poolQuery,
      answers: [{ status: 202, description: "Deletion has started, or was already complete." }],
      errors: ["not_found", "conflict"],
      handle: ({ caller, params, query }) => pools.delete(caller(), meant(params, query)),
    }),
  ];
}

function createPool(pools: PoolService): Route {
  return route({
    method: "POST",
    path: "/pools",
    name: "createPool",
    summary: "Make a pool",
    description:
      "An admin's pool serves all tenants, unless its labels name an owner. A tenant's pool serves only that tenant; its template must be visible to the tenant, " +
      "and its name ends in a suffix that the server adds: use the name in the answer.",
    body: poolSchema,
    answers: [{ status: 201, description: "The pool was created and makes its pods.", schema: poolSchema }],
    errors: ["conflict", "too_large", "limit_reached"],
    handle: async ({ caller, body, request, reply }) => {
      const pool = await pools.create(caller(), body);
      const { name = "" } = pool.metadata;
      noteSubject(request, { poolName: name });
      reply.header("location", `/v1/pools/${name}`);
      return pool;
    },
  });
}

function meant({ poolName }: { readonly poolName: string }, { namespace }: { readonly namespace?: string | undefined }): PoolName {
  return { name: poolName, namespace };
}
