/** Templates that the caller can create sandboxes from: Envs, and pools without an Env, by their names. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { callerOf } from "../http/caller-of.ts";
import { Limiter } from "#lib/limiter.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { Caller } from "#services/caller.ts";
import type { ShownSource } from "#services/creating/create-sources.ts";
import type { E2bServices } from "./e2b-face.ts";
import { envdVersion, sizeBody } from "./sandbox-body.ts";
import { buildBody, builtBody, unservedBody } from "./built-template-body.ts";
import { templateReference } from "./template-reference.ts";

/** Start of the time span for counting: all records are counted. */
const ever = "2000-01-01T00:00:00Z";

export function templateRoutes(app: FastifyInstance, services: E2bServices): void {
  const shown = async (caller: Caller, all: readonly ShownSource[]) => {
    const spawns = await spawnsOf(services, caller, all);
    return all.map((source) => {
      const built = services.builds?.template(caller, nameOf(source));
      const body = templateBody(services, source, spawns(source));
      return built === undefined ? body : { ...body, ...builtBody(built) };
    });
  };
  const list = async (request: FastifyRequest): Promise<unknown> => {
    const caller = callerOf(request);
    const sources = services.sources.list(caller);
    const names = new Set(sources.map(nameOf));
    // A first build that runs or has failed has no Env yet.
    const others = (services.builds?.templates(caller) ?? []).filter(({ env }) => !names.has(env));
    return [...(await shown(caller, sources)), ...others.map(unservedBody)];
  };
  const named = (request: FastifyRequest, templateId: string): ShownSource => {
    const { from } = templateReference(templateId);
    const caller = callerOf(request);
    return services.sources.get(caller, services.builds?.template(caller, from)?.env ?? from);
  };
  app.get("/templates", list);
  app.get("/v2/templates", list);
  app.get("/default-templates", async (request) => {
    const caller = callerOf(request);
    const open = services.sources.list(caller).filter((source) => isPublic(source));
    return shown(
      caller,
      open.toSorted((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1)),
    );
  });
  app.get("/templates/aliases/:alias", async (request) => {
    const { alias } = request.params as { readonly alias: string };
    const built = services.builds?.template(callerOf(request), alias);
    if (built !== undefined) return { templateID: built.templateId, public: built.isPublic };
    const source = named(request, alias);
    return { templateID: nameOf(source), public: isPublic(source) };
  });
  app.get("/templates/:templateID", async (request) => {
    const { templateID } = request.params as { readonly templateID: string };
    const built = services.builds?.template(callerOf(request), templateID);
    const builds = (built?.builds ?? []).map((build) => buildBody(build));
    if (built !== undefined && built.tags.length === 0) return { ...unservedBody(built), builds };
    const [template] = await shown(callerOf(request), [named(request, templateID)]);
    return { ...template, builds };
  });
}

function nameOf({ object }: ShownSource): string {
  return object.metadata.name ?? "";
}

interface Spawns {
  readonly spawnCount: number;
  readonly lastSpawnedAt: string | null;
}

/** Counts sandboxes that the caller may see and that the history still has. */
async function spawnsOf(
  { sandboxes, statistics }: E2bServices,
  caller: Caller,
  sources: readonly ShownSource[],
): Promise<(source: ShownSource) => Spawns> {
  const { live, ended } = await statistics(caller, { since: ever });
  const counts = new Map<string, number>();
  for (const { key, count } of [...live.byPool, ...ended.byPool]) counts.set(key, (counts.get(key) ?? 0) + count);
  const countOf = ({ pools }: ShownSource): number => pools.reduce((sum, { metadata: { name = "" } }) => sum + (counts.get(name) ?? 0), 0);
  const limiter = new Limiter(lookedUpAtOnce);
  const newestOf = async (source: ShownSource): Promise<string | undefined> => {
    const name = nameOf(source);
    const made = await sandboxes.list(caller, { limit: 1, ...(source.kind === "env" ? { env: name } : { pool: name }) });
    return made.sandboxes[0]?.claimedAt;
  };
  const used = sources.filter((source) => countOf(source) > 0);
  const times = new Map(await Promise.all(used.map((source) => limiter.run(async () => [source, await newestOf(source)] as const))));
  return (source) => ({ spawnCount: countOf(source), lastSpawnedAt: times.get(source) ?? null });
}

const lookedUpAtOnce = 4;

/** Pools are not built: the template is ready once one pod was ready. */
function buildStatusOf({ pools }: ShownSource): "ready" | "error" | "building" {
  if (pools.some(hadReadyPod)) return "ready";
  return pools.length > 0 && pools.every(({ status }) => status?.phase === "Degraded") ? "error" : "building";
}

function hadReadyPod({ status }: SandboxPool): boolean {
  return status?.serving !== undefined || (status?.idleReplicas ?? 0) > (status?.unavailableIdleReplicas ?? 0);
}

function updatedAt({ object: { metadata }, pools }: ShownSource): string {
  const { creationTimestamp = "" } = metadata;
  const changes = pools.flatMap(({ status }) => (status?.resolvedImages ?? []).map(({ resolvedAt }) => resolvedAt ?? ""));
  return [creationTimestamp, ...changes].sort().at(-1) ?? creationTimestamp;
}

/** The size of a sandbox if the create names no size. */
function templateBody({ sizeOf }: E2bServices, source: ShownSource, spawns: Spawns) {
  const { creationTimestamp = "", uid = "" } = source.object.metadata;
  const name = nameOf(source);
  return {
    templateID: name,
    buildID: uid,
    names: [name],
    aliases: [name],
    public: isPublic(source),
    ...sizeBody(source.defaultPool === undefined ? {} : sizeOf(source.defaultPool)),
    createdAt: creationTimestamp,
    updatedAt: updatedAt(source),
    createdBy: null,
    ...spawns,
    buildCount: 0,
    buildStatus: buildStatusOf(source),
    envdVersion,
  };
}

/** Every team may use a template without an owner. */
function isPublic({ object: { metadata } }: ShownSource): boolean {
  return !Object.keys(metadata.labels ?? {}).some((key) => key.endsWith("/team"));
}
