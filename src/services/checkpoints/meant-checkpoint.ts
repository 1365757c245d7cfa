/**
 * A create that names a checkpoint, as the create that it means: the checkpoint's image, in the pool that it was taken in. Everything after that is the
 * same as for any other image. An image of a checkpoint that a request names by itself is looked at here, too: its name is no right to it.
 */
import type { Checkpoint } from "#model/checkpoint.ts";
import { checkpointIdOf, checkpointIn, isCheckpointImage } from "#model/checkpoint-image.ts";
import { labelKeys } from "#model/keys.ts";
import type { Caller } from "#services/caller.ts";
import { type CreateSourceDeps, namedSource } from "#services/creating/create-source.ts";
import type { CreateSandbox } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { findCheckpoint, type FindCheckpointDeps, noSuchCheckpoint } from "./find-checkpoint.ts";

export interface MeantDeps extends FindCheckpointDeps, Omit<CreateSourceDeps, "cache"> {
  readonly cache: FindCheckpointDeps["cache"] & CreateSourceDeps["cache"];
}

export async function meantCreate(deps: MeantDeps, caller: Caller, command: CreateSandbox): Promise<CreateSandbox> {
  await checkImages(deps, caller, command);
  const checkpoint = await namedCheckpoint(deps, caller, command);
  if (checkpoint === undefined) return command;
  if (command.image !== undefined || command.containerImages !== undefined) {
    const field = command.image === undefined ? "containerImages" : "image";
    throw new ServiceError("invalid_request", `${field} cannot be given with a checkpoint, which is an image itself`, { field });
  }
  usable(caller, checkpoint, "from");
  const { templateVersion: _, ...rest } = command;
  return { ...rest, from: placeOf(deps, caller, checkpoint, command), image: checkpoint.status?.image ?? "" };
}

/** Envs and pools go before checkpoints of the same name. A tag of the name is its version here. */
async function namedCheckpoint(deps: MeantDeps, caller: Caller, { from, templateVersion }: CreateSandbox): Promise<Checkpoint | undefined> {
  if (namedSource(deps, caller, from) !== undefined) return undefined;
  const name = templateVersion === undefined ? from : `${from}:${templateVersion}`;
  try {
    return await findCheckpoint(deps, caller, name);
  } catch (error) {
    // The create itself says what there is instead.
    if (error instanceof ServiceError && error.code === "not_found") return undefined;
    throw error;
  }
}

async function checkImages(deps: MeantDeps, caller: Caller, { image, containerImages = {} }: CreateSandbox): Promise<void> {
  const named = [
    ["image", image ?? ""],
    ...Object.entries(containerImages).map(([name, one]) => [`containerImages.${name}`, one]),
  ] as const;
  for (const [field = "", text = ""] of named) {
    const id = checkpointIn(text);
    if (id === undefined && !isCheckpointImage(text)) continue;
    if (id === undefined) throw noSuchCheckpoint(text, field);
    usable(caller, await findCheckpoint(deps, caller, id, field), field);
  }
}

function usable(caller: Caller, checkpoint: Checkpoint, field: string): void {
  const { metadata, status } = checkpoint;
  const id = checkpointIdOf(checkpoint);
  if (status?.phase !== "Succeeded" || status.image === undefined) {
    throw new ServiceError("conflict", `checkpoint ${id} is ${status?.phase ?? "Pending"}: only one that succeeded can be used`, { field });
  }
  const team = metadata.labels?.[labelKeys.team] ?? "";
  if (team === "" || team === caller.team) return;
  // Its node gives the image to pods of the team alone.
  throw new ServiceError("invalid_request", `checkpoint ${id} belongs to team ${team}: act as that team to use it`, { field });
}

/** The pool; or its Env, where the request has wishes that only an Env can grant, or the pool is gone. */
function placeOf(deps: MeantDeps, caller: Caller, checkpoint: Checkpoint, command: CreateSandbox): string {
  const { namespace = "" } = checkpoint.metadata;
  const { pool = "", env } = checkpoint.status?.source ?? {};
  const { instanceType, multiplier, scalingGroup, cpu, memory } = command;
  const hasWishes = [instanceType, multiplier, scalingGroup, cpu, memory].some((wish) => wish !== undefined);
  const places = hasWishes && env !== undefined ? [env, pool] : [pool, ...(env === undefined ? [] : [env])];
  const place = places.map((name) => `${namespace}/${name}`).find((from) => namedSource(deps, caller, from) !== undefined);
  if (place !== undefined) return place;
  const how = `name another one, and the image ${checkpoint.status?.image ?? ""}`;
  throw new ServiceError("conflict", `the pool ${pool} that the checkpoint was taken in is not there any more: ${how}`, { field: "from" });
}
