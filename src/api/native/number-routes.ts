/** Numbers over time: what a sandbox uses, how creates went, how large pools were. */
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
    cpuPercent: number("Of what it may use: 100 is all of it."),
    memoryBytes: number("In use, without the cache of files."),
    cacheBytes: number("The cache of files."),
    diskBytes: number("What it has written."),
  },
  "What it used at a moment.",
);
const usageSchema = open(
  {
    limits: open({ cpus: number("Cores."), memoryBytes: number("Memory."), diskBytes: number("Disk.") }, "What it may use."),
    samples: Type.Array(sampleSchema, { description: "Oldest first, of the last hour at most." }),
  },
  "What a sandbox uses.",
);

const reportSchema = open(
  {
    seconds: count("The span."),
    created: count("How many were made."),
    failed: count("How many were not."),
    missed: optional(count("How many found no idle pod and waited. Absent for a key of a single user.")),
    p50Ms: optional(number("Half of them took no longer. Absent when none was made.")),
    p99Ms: optional(number("Of 100, 99 took no longer.")),
    failures: Type.Array(open({ code: text("As in a problem."), count: count("How many.") }, "One reason."), {
      description: "Most first.",
    }),
    parts: Type.Array(
      open({ start: time("When it begins."), created: count("Made."), failed: count("Not made.") }, "A part of the span."),
      {
        description: "Equal parts, oldest first.",
      },
    ),
  },
  "How creates went, as this process of the server saw them since its start.",
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
          inUse: count("Pods with a sandbox."),
          waiting: count("Requests that wait."),
          decision: optional(text("The autoscaler's decision, where it is a new one.")),
        },
        "The size at a moment.",
      ),
      { description: "Oldest first, of the last hour at most, since this process of the server started." },
    ),
  },
  "How large a pool was.",
);

export function numberRoutes({ usage, creates, sizes, pools }: NumberRoutesDeps): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/sandboxes/{sandboxId}/usage",
      name: "getUsage",
      summary: "What a live sandbox used in the last hour",
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
      summary: "How the caller's creates went lately",
      query: reportQuery,
      answers: [{ status: 200, description: "The report.", schema: reportSchema }],
      errors: [],
      handle: async ({ caller, query }) => creates.report(caller(), query.seconds ?? 600),
    }),
    route({
      method: "GET",
      path: "/pools/{poolName}/sizes",
      name: "listPoolSizes",
      summary: "How large a pool was in the last hour",
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
