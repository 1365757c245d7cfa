/** Pools: see, make, replace, scale and delete them. */
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
      summary: "The pools that sandboxes can come from, by name",
      query: poolListQuery,
      answers: [{ status: 200, description: "A page of them.", schema: poolPageSchema }],
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
      summary: "What happened to a pool lately, newest first",
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
      description: "With metadata.resourceVersion only if the pool is still that one. What the body leaves out is gone afterwards.",
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
      description: "Each of its sandboxes has its record before its pod goes.",
      params: poolParams,
      query: poolQuery,
      answers: [{ status: 202, description: "It goes, or has gone." }],
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
      "An admin's pool is for all tenants, unless its labels name an owner. A tenant's pool is its own, made from a template that it sees, " +
      "and its name ends in a suffix that the server adds: use the name in the answer.",
    body: poolSchema,
    answers: [{ status: 201, description: "It is there, and fills.", schema: poolSchema }],
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
