/** Making, replacing, scaling and deleting pools. Every write is tied to the pool that the caller's right was checked on. */
import { isApiError } from "#kube/api-error.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { labelKeys } from "#model/keys.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { type Caller, mayUse } from "#services/caller.ts";
import { checkMayChange, findPool, noSuchPool } from "./find-pool.ts";
import type { LimitGuard, Place } from "#services/limits/limit-guard.ts";
import type { PoolName } from "./pool-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { asServiceError } from "#services/service-failure.ts";
import { checkRuntimes } from "#services/templates/check-runtimes.ts";
import type { CheckPodTemplate } from "#services/templates/check-pod-template.ts";
import { maySee } from "#services/templates/template-visibility.ts";
import { tenantPoolName } from "./tenant-pool-name.ts";
import { isDeepStrictEqual } from "node:util";
import { checkKind, storedMetadata, wrong } from "./stored-metadata.ts";

export interface PoolDeps {
  readonly client: ObjectClient;
  readonly cache: Pick<SandboxCache, "pools" | "listPools" | "templates" | "envs">;
  /** No limits when left out. */
  readonly limits?: Pick<LimitGuard, "reserve" | "checkPoolSize"> | undefined;
  readonly checkPodTemplate?: CheckPodTemplate | undefined;
  /** Default namespace of pools; the only one for tenants. */
  readonly namespace: string;
}

const maxTries = 8;
const strict = { fieldValidation: "Strict" } as const;

export async function createPool(deps: PoolDeps, caller: Caller, body: SandboxPool): Promise<SandboxPool> {
  const namespace = body.metadata.namespace ?? deps.namespace;
  if (caller.role === "tenant" && caller.team === "") throw new ServiceError("forbidden", "a key without a team cannot create pools");
  if (caller.role === "tenant" && namespace !== deps.namespace) {
    const message = `metadata.namespace must be ${deps.namespace} or left out`;
    throw new ServiceError("invalid_request", message, { field: "metadata.namespace" });
  }
  const { name: wished = "" } = body.metadata;
  if (wished === "") throw new ServiceError("invalid_request", "metadata.name is required", { field: "metadata.name" });
  const name = caller.role === "tenant" ? tenantPoolName(caller, wished) : wished;
  const pool = storedPool(caller, { ...body, metadata: { ...body.metadata, name, namespace } }, undefined);
  checkTemplate(deps, caller, pool);
  using _ = placeOf(deps, pool, undefined);
  try {
    checkRuntimes(pool);
    deps.checkPodTemplate?.(SandboxPools, pool);
    return remembered(deps, await deps.client.create(SandboxPools, withoutVersion(pool), strict));
  } catch (error) {
    throw asCreateFailure(error, name, namespace);
  }
}

function withoutVersion(pool: SandboxPool): SandboxPool {
  const { resourceVersion: _, ...metadata } = pool.metadata;
  return { ...pool, metadata };
}

function asCreateFailure(error: unknown, name: string, namespace: string): unknown {
  if (isApiError(error, "AlreadyExists")) {
    return new ServiceError("conflict", `there is a pool ${JSON.stringify(name)} already`, { field: "metadata.name", cause: error });
  }
  if (!isApiError(error, "NotFound")) return asServiceError(error);
  const message = `there is no namespace ${JSON.stringify(namespace)}`;
  return new ServiceError("invalid_request", message, { field: "metadata.namespace", cause: error });
}

export async function replacePool(deps: PoolDeps, caller: Caller, wanted: PoolName, body: SandboxPool): Promise<SandboxPool> {
  const sameName = body.metadata.name === undefined || body.metadata.name === wanted.name;
  if (!sameName) throw new ServiceError("invalid_request", `metadata.name must be ${wanted.name}`, { field: "metadata.name" });
  const tries = body.metadata.resourceVersion === undefined ? maxTries : 1;
  return changed(deps, { caller, wanted, tries }, async (present) => {
    const pool = storedPool(caller, body, present);
    checkTemplate(deps, caller, pool);
    using _ = placeOf(deps, pool, present);
    checkRuntimes(pool);
    deps.checkPodTemplate?.(SandboxPools, pool, present);
    return remembered(deps, await deps.client.update(SandboxPools, pool, strict));
  });
}

export async function scalePool(deps: PoolDeps, caller: Caller, wanted: PoolName, replicas: number): Promise<SandboxPool> {
  return changed(deps, { caller, wanted, tries: maxTries }, async (present) => {
    using _ = placeOf(deps, { ...present, spec: { ...present.spec, replicas } }, present);
    const operations = [
      { op: "test", path: "/metadata/uid", value: present.metadata.uid ?? "" },
      { op: "replace", path: "/spec/replicas", value: replicas },
    ] as const;
    return remembered(deps, await deps.client.patch(SandboxPools, keyOf(present), { type: "json", operations }));
  });
}

/** Taken until the pool that was written is in the cache, and counted there. Throws limit_reached. A pool may always become smaller. */
function placeOf({ limits }: PoolDeps, pool: SandboxPool, present: SandboxPool | undefined): Place | undefined {
  const [team, before] = [teamOf(pool), present && teamOf(present)];
  const { replicas } = pool.spec;
  const grows = team === before ? replicas - (present?.spec.replicas ?? 0) : replicas;
  if (grows > 0) limits?.checkPoolSize(team, replicas);
  const user = pool.metadata.labels?.[labelKeys.user];
  const owner = { team, ...(user !== undefined && user !== "" && { user }) };
  return limits?.reserve(owner, { pods: grows, idlePods: grows, pools: team === before ? 0 : 1 });
}

function teamOf({ metadata: { labels } }: SandboxPool): string {
  return labels?.[labelKeys.team] ?? "";
}

export async function deletePool(deps: PoolDeps, caller: Caller, wanted: PoolName): Promise<void> {
  const pool = findPool(deps, caller, wanted);
  checkMayChange(caller, pool);
  try {
    await deps.client.delete(SandboxPools, keyOf(pool), { preconditions: { uid: pool.metadata.uid }, propagationPolicy: "Background" });
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw asServiceError(error);
  }
}

/** A pool that changes meanwhile is read again, including its owner; unless the request names a version. */
async function changed(
  deps: PoolDeps,
  { caller, wanted, tries }: { readonly caller: Caller; readonly wanted: PoolName; readonly tries: number },
  write: (present: SandboxPool) => Promise<SandboxPool>,
): Promise<SandboxPool> {
  let present = findPool(deps, caller, wanted);
  for (let attempt = 1; ; attempt++) {
    checkMayChange(caller, present);
    try {
      return remembered(deps, await write(present));
    } catch (error) {
      if (!isLostRace(error) || attempt === tries) throw asServiceError(error);
    }
    present = await reread(deps, caller, wanted, present);
  }
}

async function reread(deps: PoolDeps, caller: Caller, wanted: PoolName, { metadata }: SandboxPool): Promise<SandboxPool> {
  const { namespace, name = "" } = metadata;
  try {
    const pool = remembered(deps, await deps.client.get(SandboxPools, { namespace, name }));
    if (mayUse(caller, pool)) return pool;
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw asServiceError(error);
  }
  throw noSuchPool(wanted);
}

/** A template that the caller does not see cannot be built on; an admin's pool may name one that comes later. */
function checkTemplate({ cache }: PoolDeps, caller: Caller, { spec: { templateName } }: SandboxPool): void {
  if (caller.role === "admin" || templateName === undefined) return;
  const template = cache.templates.objects.get({ name: templateName });
  if (template !== undefined && maySee(caller, template)) return;
  const message = `there is no template ${JSON.stringify(templateName)}`;
  throw new ServiceError("invalid_request", message, { field: "spec.templateName" });
}

function remembered({ cache }: PoolDeps, pool: SandboxPool): SandboxPool {
  cache.pools.remember(pool);
  return pool;
}

/**
 * What of a body becomes a pool (pure). Metadata: `stored-metadata.ts`. A tenant cannot write a pod template, which could select machines, or a runtime,
 * whose probe could make nodes connect anywhere. A tenant's pool is made from a template that an admin offers.
 *
 * `present` is the pool that is replaced; undefined for a new one.
 */
function storedPool(caller: Caller, body: SandboxPool, present: SandboxPool | undefined): SandboxPool {
  checkKind(body, SandboxPools);
  if (caller.role === "tenant") checkTenantSpec(body, present);
  return { metadata: storedMetadata(caller, body.metadata, present), spec: body.spec };
}

/** What an admin wrote into a tenant's pool may be sent back as it is. */
function checkTenantSpec({ spec }: SandboxPool, present: SandboxPool | undefined): void {
  for (const field of ["template", "runtimes"] as const) {
    if (spec[field] === undefined || isDeepStrictEqual(spec[field], present?.spec[field])) continue;
    throw wrong(`spec.${field}`, "is an admin's to write: name a template with spec.templateName");
  }
  if (spec.templateName !== undefined || spec.template !== undefined) return;
  throw wrong("spec.templateName", "is needed: the template that the pool's pods are made from");
}
