/** Making, replacing and deleting Envs. Every write is tied to the version of the Env that it was decided on (W3). */
import { isApiError } from "#kube/api-error.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import { isLostRace } from "#kube/lost-race.ts";
import { annotationKeys } from "#model/keys.ts";
import type { ObjectMeta } from "#model/meta.ts";
import type { JsonPatchOperation } from "#model/patch.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { type Caller, mayUse } from "../caller.ts";
import { ServiceError } from "../service-error.ts";
import { asServiceError } from "../service-failure.ts";
import { wrong } from "#services/pools/stored-metadata.ts";
import { tenantPoolName } from "#services/pools/tenant-pool-name.ts";
import type { EnvBody, EnvDeps, EnvName } from "./env-deps.ts";
import { checkMayChange, findEnv, noSuchEnv } from "./find-env.ts";
import { localCluster, writePrepared } from "./prepare-env.ts";
import { checkCredentials, writePullSecret } from "./pull-secret.ts";
import { storedEnv } from "./stored-env.ts";

const maxTries = 8;
const strict = { fieldValidation: "Strict" } as const;

export async function createEnv(deps: EnvDeps, caller: Caller, body: EnvBody, signal: AbortSignal): Promise<SandboxEnv> {
  const clusterID = localCluster(deps);
  const { name, namespace } = placeFor(deps, caller, body);
  const credentials = body.imagePullSecret;
  checkCredentials(credentials);
  const metadata = { ...withoutVersion(body.metadata), name, namespace };
  const next = storedEnv({ caller, body: { ...body, metadata }, present: undefined, clusterID });
  const hasPullSecret = credentials !== undefined && credentials !== null;
  // Known before the plugins are asked, which may reserve something.
  if (await isTaken(deps, { namespace, name })) throw nameTaken(name);
  return await writePrepared(deps, { caller, next, present: undefined, hasPullSecret }, signal, async (env) => {
    const made = await created(deps, env);
    try {
      await writePullSecret(deps, made, credentials ?? undefined);
    } catch (error) {
      // Without its credentials the Env is not what was asked for: nothing is left of it.
      await deps.client.delete(SandboxEnvs, keyOf(made), { preconditions: { uid: made.metadata.uid } }).catch(() => {});
      throw error;
    }
    return made;
  });
}

function withoutVersion(sent: ObjectMeta): ObjectMeta {
  const { resourceVersion: _, ...metadata } = sent;
  return metadata;
}

function placeFor(deps: EnvDeps, caller: Caller, body: EnvBody): { readonly name: string; readonly namespace: string } {
  const { name: wished = "", namespace = deps.namespace } = body.metadata;
  if (caller.role === "tenant" && caller.team === "") throw new ServiceError("forbidden", "a key without a team cannot create Envs");
  if (caller.role === "tenant" && namespace !== deps.namespace) {
    throw wrong("metadata.namespace", `must be ${deps.namespace} or left out`);
  }
  if (wished === "") throw wrong("metadata.name", "is needed");
  return { name: caller.role === "tenant" ? tenantPoolName(caller, wished) : wished, namespace };
}

async function created(deps: EnvDeps, env: SandboxEnv): Promise<SandboxEnv> {
  try {
    return remembered(deps, await deps.client.create(SandboxEnvs, env, strict));
  } catch (error) {
    const { name = "", namespace = "" } = env.metadata;
    if (isApiError(error, "AlreadyExists")) throw nameTaken(name, error);
    if (!isApiError(error, "NotFound")) throw asServiceError(error);
    const message = `there is no namespace ${JSON.stringify(namespace)}`;
    throw new ServiceError("invalid_request", message, { field: "metadata.namespace", cause: error });
  }
}

/** The cache may be late about one that was deleted. */
async function isTaken({ client, cache }: EnvDeps, key: { readonly namespace: string; readonly name: string }): Promise<boolean> {
  if (cache.envs.objects.get(key) === undefined) return false;
  try {
    await client.get(SandboxEnvs, key);
    return true;
  } catch (error) {
    if (isApiError(error, "NotFound")) return false;
    throw asServiceError(error);
  }
}

function nameTaken(name: string, cause?: unknown): ServiceError {
  return new ServiceError("conflict", `there is an Env ${JSON.stringify(name)} already`, { field: "metadata.name", cause });
}

export interface ReplaceEnv {
  readonly wanted: EnvName;
  readonly body: EnvBody;
}

export async function replaceEnv(deps: EnvDeps, caller: Caller, { wanted, body }: ReplaceEnv, signal: AbortSignal): Promise<SandboxEnv> {
  const clusterID = localCluster(deps);
  const { name, resourceVersion } = body.metadata;
  if (name !== undefined && name !== wanted.name) throw wrong("metadata.name", `must be ${wanted.name}`);
  if (body.members !== undefined) throw wrong("members", "are for a new Env: use spec.clusters, or the routes of members");
  const credentials = body.imagePullSecret;
  checkCredentials(credentials);
  const hasPullSecret = credentials === undefined ? undefined : credentials !== null;
  const tries = resourceVersion === undefined ? maxTries : 1;
  const env = await changedEnv(deps, { caller, wanted, tries }, async (present) => {
    const next = storedEnv({ caller, body, present, clusterID });
    return await writePrepared(deps, { caller, next, present, hasPullSecret }, signal, async (prepared) =>
      remembered(deps, await deps.client.update(SandboxEnvs, prepared, strict)),
    );
  });
  await writePullSecret(deps, env, credentials);
  return env;
}

/** Sandboxes that run go on until they end, unless `endSandboxes`. */
export async function deleteEnv(deps: EnvDeps, caller: Caller, wanted: EnvName, endSandboxes: boolean): Promise<void> {
  const found = findEnv(deps, caller, wanted);
  // Deleting again is a success, and may add that sandboxes are ended.
  checkMayChange(caller, withoutDeletion(found));
  try {
    if (endSandboxes) await markEnding(deps, found);
    const preconditions = { uid: found.metadata.uid };
    await deps.client.delete(SandboxEnvs, keyOf(found), { preconditions, propagationPolicy: "Background" });
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw asServiceError(error);
  }
}

function withoutDeletion(env: SandboxEnv): SandboxEnv {
  const { deletionTimestamp: _, ...metadata } = env.metadata;
  return { ...env, metadata };
}

async function markEnding({ client }: EnvDeps, { metadata }: SandboxEnv): Promise<void> {
  const { namespace, name = "", uid = "" } = metadata;
  const body = { metadata: { uid, annotations: { [annotationKeys.endSandboxes]: "true" } } };
  await client.patch(SandboxEnvs, { namespace, name }, { type: "merge", body });
}

export interface ChangeRequest {
  readonly caller: Caller;
  readonly wanted: EnvName;
  readonly tries?: number;
}

/** An Env that changes meanwhile is read again, and so is whether the caller owns it; unless the caller named the version that is meant. */
export async function changedEnv(
  deps: EnvDeps,
  { caller, wanted, tries = maxTries }: ChangeRequest,
  write: (present: SandboxEnv) => Promise<SandboxEnv>,
): Promise<SandboxEnv> {
  let present = findEnv(deps, caller, wanted);
  for (let attempt = 1; ; attempt++) {
    checkMayChange(caller, present);
    try {
      return await write(present);
    } catch (error) {
      if (!isLostRace(error) || attempt === tries) throw asServiceError(error);
    }
    present = await reread(deps, caller, wanted, present);
  }
}

/** Applies the operations if the Env is still the version that they were made for. */
export async function patchEnv(deps: EnvDeps, present: SandboxEnv, operations: readonly JsonPatchOperation[]): Promise<SandboxEnv> {
  if (operations.length === 0) return present;
  const test = { op: "test", path: "/metadata/resourceVersion", value: present.metadata.resourceVersion ?? "" } as const;
  const patch = { type: "json", operations: [test, ...operations] } as const;
  return remembered(deps, await deps.client.patch(SandboxEnvs, keyOf(present), patch, strict));
}

async function reread(deps: EnvDeps, caller: Caller, wanted: EnvName, { metadata }: SandboxEnv): Promise<SandboxEnv> {
  const { namespace, name = "" } = metadata;
  try {
    const env = remembered(deps, await deps.client.get(SandboxEnvs, { namespace, name }));
    if (mayUse(caller, env)) return env;
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw asServiceError(error);
  }
  throw noSuchEnv(wanted);
}

function remembered({ cache }: EnvDeps, env: SandboxEnv): SandboxEnv {
  cache.envs.remember(env);
  return env;
}
