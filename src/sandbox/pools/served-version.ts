/**
 * Which version of its template a pool hands out: the last one of which a pod became ready. A template that was changed to something that
 * cannot start, or deleted, leaves the sandboxes of its pools as they were. Pure.
 */
import type { SandboxPool, ServedVersion } from "#model/sandbox-pool.ts";
import { runsImage } from "./entrypoint.ts";
import { type ContainerImages, idleContainerImages, runContainerImages, type TargetImages, targetsOf } from "#sandbox/images/images.ts";
import type { PoolTemplate } from "./resolve-template.ts";

/** Undefined while the digest of one of its images is not known. */
export function versionToServe(
  template: PoolTemplate,
  templateHash: string,
  digests: Readonly<Record<string, string>>,
): ServedVersion | undefined {
  const [run, waiting] = [targetsOf(runContainerImages(template), digests), targetsOf(idleContainerImages(template), digests)];
  if (run.kind === "unresolved" || waiting.kind === "unresolved") return undefined;
  return {
    templateHash,
    images: listed(run.targets),
    waitingImages: listed(waiting.targets),
    ...(runsImage(template) ? { runsImage: true } : {}),
  };
}

/** What sandboxes run, where that is not what the template says now; undefined where it is, or where nothing was ever ready. */
export function servedInstead({ status }: SandboxPool, template: PoolTemplate | undefined): ServedVersion | undefined {
  const serving = status?.serving;
  if (serving === undefined) return undefined;
  const isCurrent = template !== undefined && isSame(runContainerImages(template), serving.images);
  return isCurrent ? undefined : serving;
}

export function targetsServed(images: ServedVersion["images"]): TargetImages {
  return Object.fromEntries(images.map(({ container, image, digest }) => [container, { image, digest }]));
}

function listed(targets: TargetImages): ServedVersion["images"] {
  return Object.entries(targets).map(([container, { image, digest }]) => ({ container, image, digest }));
}

function isSame(images: ContainerImages, served: ServedVersion["images"]): boolean {
  return Object.keys(images).length === served.length && served.every(({ container, image }) => images[container] === image);
}
