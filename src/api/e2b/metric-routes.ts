/** Resource usage of sandboxes, for E2B's SDKs and command line. */
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { callerOf } from "../http/caller-of.ts";
import type { Capacity } from "#services/usage/pod-use.ts";
import type { UsageSample } from "#services/usage/usage-log.ts";
import type { E2bServices } from "./e2b-face.ts";
import { idOf } from "./sandbox-routes.ts";

/** Unix seconds. */
const moment = Type.Optional(Type.Integer({ minimum: 0 }));
const spanQuery = Type.Object({ start: moment, end: moment });
const manyQuery = Type.Object({ sandbox_ids: Type.Union([Type.String(), Type.Array(Type.String())]) });

export function metricRoutes(app: FastifyInstance, { usage }: E2bServices): void {
  app.get("/sandboxes/:sandboxID/metrics", { schema: { querystring: spanQuery } }, async (request) => {
    const { start, end } = request.query as Static<typeof spanQuery>;
    const { limits, samples } = await usage.of(callerOf(request), idOf(request), {
      ...(start === undefined ? {} : { fromMs: start * 1000 }),
      ...(end === undefined ? {} : { toMs: end * 1000 }),
    });
    return samples.map((sample) => metricBody(sample, limits));
  });
  app.get("/sandboxes/metrics", { schema: { querystring: manyQuery } }, async (request) => {
    const { sandbox_ids: given } = request.query as Static<typeof manyQuery>;
    const ids = (typeof given === "string" ? [given] : given).flatMap((text) => text.split(",")).filter((id) => id !== "");
    const latest = await usage.latest(callerOf(request), ids);
    return { sandboxes: Object.fromEntries([...latest].map(([id, { sample, limits }]) => [id, metricBody(sample, limits)])) };
  });
}

function metricBody({ atMs, cpuPercent, memoryBytes, cacheBytes, diskBytes }: UsageSample, limits: Capacity) {
  return {
    timestamp: new Date(atMs).toISOString(),
    timestampUnix: Math.floor(atMs / 1000),
    cpuCount: Math.max(1, Math.ceil(limits.cpus)),
    cpuUsedPct: cpuPercent,
    memUsed: memoryBytes,
    memTotal: limits.memoryBytes,
    memCache: cacheBytes,
    diskUsed: diskBytes,
    diskTotal: limits.diskBytes,
  };
}
