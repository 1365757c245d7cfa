/** Whether anything that makes containers names the image of a checkpoint. */
import { checkpointIn } from "#model/checkpoint-image.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";

export type NamesCache = Pick<SandboxCache, "pods" | "pools" | "envs" | "templates">;

/** Pods by their containers; pools, Envs and templates by every text in them, also the images that a pool serves while a new version starts. */
export function isCheckpointNamed({ pods, pools, envs, templates }: NamesCache, id: string): boolean {
  for (const { spec } of pods.objects.list()) {
    const containers = [...spec.containers, ...(spec.initContainers ?? [])];
    if (containers.some(({ image }) => checkpointIn(image) === id)) return true;
  }
  // Whatever registry it is in: an id is too long to be part of anything else.
  const name = `/${id}`;
  for (const informer of [pools, envs, templates]) {
    for (const { metadata, spec, ...rest } of informer.objects.list()) {
      if (JSON.stringify([metadata.annotations, spec, rest]).includes(name)) return true;
    }
  }
  return false;
}
