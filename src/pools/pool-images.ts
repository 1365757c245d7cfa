/** What the pods of a pool are made from: its template as it is now, and what the tags in it mean. */
import type { ImageCommand } from "#images/image-config.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { labelKeys } from "#model/keys.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { type ContainerImages, idleContainerImages, type TargetImages, targetsOf } from "#sandbox/images/images.ts";
import { type PoolTemplate, type ResolvedTemplate, resolveTemplate } from "#sandbox/pools/resolve-template.ts";
import { type ForeignChoice, foreignChoice } from "./image-choice.ts";

/** The identity for pulling a pod's images: it decides which credentials are shown to registries. */
export interface ImagePuller {
  readonly namespace: string;
  readonly serviceAccountName?: string;
  readonly imagePullSecrets?: readonly { readonly name?: string }[];
  /** Left out for images that the pool's admin chose (image-choice.ts). */
  readonly choice?: ForeignChoice;
  /** Whose checkpoints it may have: the pool's team, and that of a caller. */
  readonly teams?: readonly string[];
}

/** What a tag means today. Answers are kept for a while, so asking again costs nothing. */
export interface ImageDigests {
  resolve(image: string, options: DigestOptions): Promise<{ readonly digest: string }>;
}

/** The image's own command. It never changes, so one question to the registry for each digest is enough. */
export interface ImageCommands {
  commandOf(image: string, digest: string, options: DigestOptions): Promise<ImageCommand>;
}

export interface DigestOptions {
  readonly signal: AbortSignal;
  /** Ignored by sources that know no secrets of pods. */
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
export function pullerOf({ metadata: { namespace = "", labels } }: SandboxPool, { template }: Pick<PoolTemplate, "template">): ImagePuller {
  const { serviceAccountName, imagePullSecrets } = template?.spec ?? {};
  const team = labels?.[labelKeys.team];
  return { namespace, ...withoutUndefined({ serviceAccountName, imagePullSecrets, teams: team === undefined ? undefined : [team] }) };
}

/** The credentials with which each image of one pool is pulled. */
export type ImagePullers = (image: string) => ImagePuller;

/** A caller that chooses images; an admin may have everything that the pool's credentials open. */
export interface ImageChooser {
  readonly isAdmin: boolean;
  readonly team?: string | undefined;
}

/** Without a caller: the pool's own images. */
export function pullersOf(
  pool: SandboxPool,
  template: PoolTemplate,
  { isAdmin: asAdmin, team }: ImageChooser = { isAdmin: false },
): ImagePullers {
  const own = pullerOf(pool, template);
  const puller = team === undefined ? own : { ...own, teams: [...(own.teams ?? []), team] };
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
