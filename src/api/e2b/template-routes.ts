/** What there is to create sandboxes from: the pools that the caller may use, under their names. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { callerOf } from "../http/caller-of.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { PoolSize } from "#services/pool-size.ts";
import { poolOfTemplate } from "./create-command.ts";
import type { E2bServices } from "./e2b-face.ts";
import { envdVersion, sizeBody } from "./sandbox-body.ts";

const pageSize = 500;

export function templateRoutes(app: FastifyInstance, { pools, sizeOf }: E2bServices): void {
  const shown = (pool: SandboxPool) => templateBody(pool, sizeOf(pool));
  const list = async (request: FastifyRequest): Promise<unknown> => {
    const all: SandboxPool[] = [];
    let cursor: string | undefined;
    do {
      const page = await pools.list(callerOf(request), { limit: pageSize, ...(cursor === undefined ? {} : { cursor }) });
      all.push(...page.items);
      cursor = page.next;
    } while (cursor !== undefined);
    return all.map(shown);
  };
  app.get("/templates", list);
  app.get("/v2/templates", list);
  app.get("/templates/aliases/:alias", async (request) => {
    const pool = await named(pools, request, (request.params as { readonly alias: string }).alias);
    return { templateID: pool.metadata.name, public: isPublic(pool) };
  });
  app.get("/templates/:templateID", async (request) => {
    const pool = await named(pools, request, (request.params as { readonly templateID: string }).templateID);
    return { ...shown(pool), builds: [] };
  });
}

function named(pools: E2bServices["pools"], request: FastifyRequest, templateId: string): Promise<SandboxPool> {
  const [name = "", namespace] = poolOfTemplate(templateId).split("/").reverse();
  return pools.get(callerOf(request), { name, ...(namespace === undefined ? {} : { namespace }) });
}

function templateBody(pool: SandboxPool, size: PoolSize) {
  const { name = "", creationTimestamp = "", uid = "" } = pool.metadata;
  return {
    templateID: name,
    buildID: uid,
    names: [name],
    aliases: [name],
    public: isPublic(pool),
    ...sizeBody(size),
    createdAt: creationTimestamp,
    updatedAt: creationTimestamp,
    createdBy: null,
    lastSpawnedAt: null,
    spawnCount: 0,
    buildCount: 1,
    buildStatus: "ready",
    envdVersion,
  };
}

/** Everybody's when nobody owns it. */
function isPublic({ metadata: { labels = {} } }: SandboxPool): boolean {
  return !Object.keys(labels).some((key) => key.endsWith("/team"));
}
