/** The checkpoint that a caller names. What is foreign, being deleted, or never was is the same to a caller (I8). */
import type { ObjectClient } from "#kube/object-client.ts";
import { type Checkpoint, Checkpoints } from "#model/checkpoint.ts";
import { checkpointIdOf, isCheckpointId } from "#model/checkpoint-image.ts";
import { checkpointsById } from "#read-model/indexes.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { type Caller, owns } from "#services/caller.ts";
import { ServiceError } from "#services/service-error.ts";
import { translated } from "#services/service-failure.ts";

export interface FindCheckpointDeps {
  readonly client: Pick<ObjectClient, "list">;
  readonly cache: Pick<SandboxCache, "checkpoints" | "namespace">;
}

/** By id or alias. One that another process made a moment ago is found by its id. */
export async function findCheckpoint(deps: FindCheckpointDeps, caller: Caller, name: string, field?: string): Promise<Checkpoint> {
  const known = knownCheckpoint(deps, caller, name) ?? (await askedCheckpoint(deps, caller, name));
  if (known === undefined) throw noSuchCheckpoint(name, field);
  return known;
}

export function noSuchCheckpoint(name: string, field?: string): ServiceError {
  return new ServiceError("not_found", `there is no checkpoint ${JSON.stringify(name)}`, field === undefined ? {} : { field });
}

/** From the cache alone. */
export function knownCheckpoint({ cache }: Pick<FindCheckpointDeps, "cache">, caller: Caller, name: string): Checkpoint | undefined {
  const isShown = (checkpoint: Checkpoint): boolean => owns(caller, checkpoint) && checkpoint.metadata.deletionTimestamp === undefined;
  const byId = cache.checkpoints.objects.lookup(checkpointsById, name).find(isShown);
  if (byId !== undefined) return byId;
  if (isCheckpointId(name)) return cache.checkpoints.objects.list().find((one) => one.metadata.name === name && isShown(one));
  const named = cache.checkpoints.objects
    .list()
    .filter((one) => one.status?.phase === "Succeeded" && hasAlias(one, name) && isShown(one))
    .toArray();
  return named.sort(newestFirst)[0];
}

/** `name` without a tag means any tag. */
export function hasAlias({ spec: { alias } }: Checkpoint, name: string): boolean {
  return alias === name || (!name.includes(":") && alias?.startsWith(`${name}:`) === true);
}

export function newestFirst(left: Checkpoint, right: Checkpoint): number {
  return timeOf(right).localeCompare(timeOf(left)) || checkpointIdOf(left).localeCompare(checkpointIdOf(right));
}

function timeOf({ metadata, status }: Checkpoint): string {
  return status?.completionTime ?? metadata.creationTimestamp ?? "";
}

async function askedCheckpoint({ client, cache }: FindCheckpointDeps, caller: Caller, name: string): Promise<Checkpoint | undefined> {
  if (!isCheckpointId(name)) return undefined;
  const { items } = await translated(client.list(Checkpoints, { namespace: cache.namespace, fieldSelector: `metadata.name=${name}` }));
  for (const checkpoint of items) cache.checkpoints.remember(checkpoint);
  return items.find((checkpoint) => owns(caller, checkpoint) && checkpoint.metadata.deletionTimestamp === undefined);
}
