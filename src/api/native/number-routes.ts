/** Numbers over time: usage of a sandbox, statistics of creates, sizes of pools. */
import { Type } from "typebox";
import { count, text } from "#model/schema-builders.ts";
import type { CreateLog } from "#services/usage/create-log.ts";
import type { PoolService } from "#services/pools/pool-service.ts";
import type { SizeLog } from "#services/pools/size-log.ts";
import type { SandboxUsage } from "#services/usage/sandbox-usage.ts";
import { type Route, route } from "./route.ts";
import { closed, open, optional, time } from "./schemas/builders.ts";
import { poolQuery } from "./schemas/objects.ts";
import { sandboxParams } from "./schemas/sandbox.ts";

export interface NumberRoutesDeps {
  readonly usage: Pick<SandboxUsage, "of">;
  readonly creates: Pick<CreateLog, "report">;
  readonly sizes: Pick<SizeLog, "of">;
  readonly pools: PoolService;
}

const number = (description: string) => Type.Number({ minimum: 0, description });

const sampleSchema = open(
  {
    at: time("When."),
    cpuPercent: number("Share of its processor limit; 100 is all of it."),
    memoryBytes: number("Memory in use, without the page cache."),
    cacheBytes: number("Memory of the page cache."),
    diskBytes: number("Disk space that the sandbox has written."),
  },
  "Usage at one moment.",
);
const usageSchema = open(
  {
    limits: open(
      { cpus: number("Processor cores."), memoryBytes: number("Memory in bytes."), diskBytes: number("Disk space in bytes.") },
      "Limits of the sandbox.",
    ),
    samples: Type.Array(sampleSchema, { description: "Samples, oldest first, at most one hour." }),
  },
  "Resource usage of a sandbox.",
);

const reportSchema = open(
  {
    seconds: count("The span."),
    created: count("Number of successful creates."),
    failed: count("Number of failed creates."),
    missed: optional(count("Number of creates that found no idle pod and waited. Absent for the key of a single user.")),
    p50Ms: optional(number("Median duration of successful creates. Absent without any.")),
    p99Ms: optional(number("Of 100, 99 took no longer.")),
    failures: Type.Array(
      open(
        { code: text("An error code, as in a problem."), count: count("Number of failures with this code.") },
        "Failures with one code.",
      ),
      {
        description: "Most first.",
      },
    ),
    parts: Type.Array(
      open(
        { start: time("Start of this part."), created: count("Successful creates."), failed: count("Failed creates.") },
        "One part of the time span.",
      ),
      {
        description: "Equal parts of the time span, oldest first.",
      },
    ),
  },
  "Statistics of creates, as seen by this server process since its start.",
);
const reportQuery = closed(
  { seconds: optional(Type.Integer({ minimum: 60, maximum: 3600, description: "The span; 600 when left out." })) },
  "Which span.",
);

const sizesSchema = open(
  {
    sizes: Type.Array(
      open(
        {
          at: time("When."),
          wanted: count("Pods wanted."),
          idle: count("Pods that wait."),
          inUse: count("Pods that carry a sandbox."),
          waiting: count("Requests that wait."),
          decision: optional(text("The autoscaler's decision, if it was made at this moment.")),
        },
        "Size of the pool at one moment.",
      ),
      { description: "Oldest first, of the last hour at most, since this process of the server started." },
    ),
  },
  "Size of a pool over time.",
);

export function numberRoutes({ usage, creates, sizes, pools }: NumberRoutesDeps): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/sandboxes/{sandboxId}/usage",
      name: "getUsage",
      summary: "Show the resource usage of a live sandbox over the last hour",
      params: sandboxParams,
      answers: [{ status: 200, description: "Its samples.", schema: usageSchema }],
      errors: ["not_found"],
      handle: async ({ caller, params }) => {
        const { limits, samples } = await usage.of(caller(), params.sandboxId, {});
        return { limits, samples: samples.map(({ atMs, ...used }) => ({ at: new Date(atMs).toISOString(), ...used })) };
      },
    }),
    route({
      method: "GET",
      path: "/statistics/creates",
      name: "reportCreates",
      summary: "Show statistics of the caller's recent creates",
      query: reportQuery,
      answers: [{ status: 200, description: "The report.", schema: reportSchema }],
      errors: [],
      handle: async ({ caller, query }) => creates.report(caller(), query.seconds ?? 600),
    }),
    route({
      method: "GET",
      path: "/pools/{poolName}/sizes",
      name: "listPoolSizes",
      summary: "Show the size of a pool over the last hour",
      params: Type.Object({ poolName: text("The name of a pool.") }),
      query: poolQuery,
      answers: [{ status: 200, description: "Its sizes.", schema: sizesSchema }],
      errors: ["not_found", "conflict"],
      handle: async ({ caller, params, query }) => ({
        sizes: sizes.of(await pools.get(caller(), { name: params.poolName, namespace: query.namespace })),
      }),
    }),
  ];
}
