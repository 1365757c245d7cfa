/** What the pods of a pool are made from: its template as it is now, and what the tags in it mean. */
import type { ImageCommand } from "#images/image-config.ts";
import type { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { type ContainerImages, idleContainerImages, type TargetImages, targetsOf } from "#sandbox/images/images.ts";
import { type PoolTemplate, type ResolvedTemplate, resolveTemplate } from "#sandbox/pools/resolve-template.ts";
import { type ForeignChoice, foreignChoice } from "./image-choice.ts";

/** As whom a pod's images are pulled: what says which credentials registries are shown. */
export interface ImagePuller {
  readonly namespace: string;
  readonly serviceAccountName?: string;
  readonly imagePullSecrets?: readonly { readonly name?: string }[];
  /** Left out for images that the pool's admin chose (image-choice.ts). */
  readonly choice?: ForeignChoice;
}

/** What a tag means today. Answers are kept for a while, so asking again costs nothing. */
export interface ImageDigests {
  resolve(image: string, options: DigestOptions): Promise<{ readonly digest: string }>;
}

/** What an image runs by itself. It never changes, so an implementation asks a registry once for each digest. */
export interface ImageCommands {
  commandOf(image: string, digest: string, options: DigestOptions): Promise<ImageCommand>;
}

export interface DigestOptions {
  readonly signal: AbortSignal;
  /** An implementation that knows no secrets of pods ignores it. */
  readonly puller?: ImagePuller | undefined;
}

export interface PoolImagesDeps {
  readonly cache: Pick<SandboxCache, "templates">;
  readonly digests: ImageDigests;
}

export function templateOf({ cache }: Pick<PoolImagesDeps, "cache">, pool: SandboxPool): ResolvedTemplate {
  const { templateName } = pool.spec;
  return resolveTemplate(pool, templateName === undefined ? undefined : cache.templates.objects.get({ name: templateName }));
}

/** The credentials for images that the admin of a pool chose. */
export function pullerOf({ metadata: { namespace = "" } }: SandboxPool, { template }: Pick<PoolTemplate, "template">): ImagePuller {
  const { serviceAccountName, imagePullSecrets } = template?.spec ?? {};
  return { namespace, ...withoutUndefined({ serviceAccountName, imagePullSecrets }) };
}

/** The credentials with which each image of one pool is pulled. */
export type ImagePullers = (image: string) => ImagePuller;

/** `asAdmin`: an admin chooses the images, and may have everything that the pool's credentials open. */
export function pullersOf(pool: SandboxPool, template: PoolTemplate, asAdmin = false): ImagePullers {
  const puller = pullerOf(pool, template);
  return (image) => ({ ...puller, ...withoutUndefined({ choice: asAdmin ? undefined : foreignChoice(pool, template, image) }) });
}

/** The same answers, asked for as these. */
export function pulledBy({ digests }: Pick<PoolImagesDeps, "digests">, pullers: ImagePullers): Pick<PoolImagesDeps, "digests"> {
  return { digests: { resolve: (image, options) => digests.resolve(image, { ...options, puller: pullers(image) }) } };
}

/** Image to digest. Fails as the first of them fails. */
export async function digestsOf(
  { digests }: Pick<PoolImagesDeps, "digests">,
  images: Iterable<string>,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const resolved = await Promise.all(
    Array.from(new Set(images), async (image) => [image, await digests.resolve(image, { signal })] as const),
  );
  return Object.fromEntries(resolved.map(([image, { digest }]) => [image, digest]));
}

/** Every container with the image it is to run, and that image's digest. */
export async function targetImages(
  deps: Pick<PoolImagesDeps, "digests">,
  images: ContainerImages,
  signal: AbortSignal,
): Promise<TargetImages> {
  const resolved = targetsOf(images, await digestsOf(deps, Object.values(images), signal));
  if (resolved.kind === "targets") return resolved.targets;
  throw new Error(`no digest is known of ${resolved.missing.join(", ")}`);
}

/** What idle pods of the template wait on. */
export function waitingImages(deps: Pick<PoolImagesDeps, "digests">, template: PoolTemplate, signal: AbortSignal): Promise<TargetImages> {
  return targetImages(deps, idleContainerImages(template), signal);
}
