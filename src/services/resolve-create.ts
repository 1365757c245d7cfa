/** What a request means: which pool, which images with which digests, which times. Nothing is taken yet. */
import { keyOf } from "#kube/informer/indexed-store.ts";
import type { ImageCommand } from "#images/image-config.ts";
import { isImageError } from "#images/image-error.ts";
import { type ImagePuller, pulledBy, pullerOf, targetImages, templateOf } from "#lifecycle/pool-images.ts";
import { parseDuration } from "#model/duration.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { PoolRef } from "#scheduling/pool-ref.ts";
import { runsImage } from "#sandbox/entrypoint.ts";
import { type ContainerImages, requestedImages, type TargetImages } from "#sandbox/images.ts";
import type { PoolTemplate } from "#sandbox/resolve-template.ts";
import { type Caller, mayUse } from "./caller.ts";
import { checkKeys } from "./check-create.ts";
import type { SandboxClaimsDeps } from "./claim-deps.ts";
import type { CreateSandbox } from "./sandbox-service.ts";
import { ServiceError } from "./service-error.ts";

export interface ResolvedCreate {
  readonly pool: PoolRef;
  /** What is asked for; `resolveImages` says what that is today. */
  readonly images: ContainerImages;
  /** As whom these are looked up. */
  readonly puller: ImagePuller;
  /** The container that is the sandbox. */
  readonly first: string;
  /** Whether it runs what its image runs by itself. */
  readonly runsImage: boolean;
  readonly startupTimeoutMs: number;
  readonly idleTimeoutMs: number;
}

/** What a create needs to know of images before it takes a pod. */
export interface ResolvedImages {
  /** Every container with the image it is to run and that image's digest. */
  readonly targets: TargetImages;
  /** Of the first container's, where sandboxes run it. */
  readonly imageCommand?: ImageCommand;
}

type ResolveDeps = Pick<SandboxClaimsDeps, "cache" | "digests" | "commands" | "poolNamespace">;

const defaultNamespace = "default";
const defaultStartupTimeoutMs = 2 * 60 * 1000;
/** Enough to see a typing mistake by. */
const maxAvailable = 20;

export function resolveCreate(deps: Pick<ResolveDeps, "cache" | "poolNamespace">, caller: Caller, command: CreateSandbox): ResolvedCreate {
  const pool = poolMeant(deps, caller, command.from);
  const template = templateFor(deps, pool);
  const { metadata, spec } = template.template ?? {};
  checkKeys(command, { labels: metadata?.labels, annotations: metadata?.annotations });
  const { defaultStartupTimeout, defaultIdleTimeout } = pool.spec;
  return {
    pool: refOf(pool),
    images: imagesMeant(template, command),
    puller: pullerOf(pool, template),
    first: spec?.containers[0]?.name ?? "",
    runsImage: runsImage(template),
    startupTimeoutMs: command.startupTimeoutMs ?? durationOf(defaultStartupTimeout) ?? defaultStartupTimeoutMs,
    idleTimeoutMs: command.idleTimeoutMs ?? durationOf(defaultIdleTimeout) ?? 0,
  };
}

function refOf({ metadata: { namespace = "", name = "" } }: SandboxPool): PoolRef {
  return { namespace, name };
}

/** Foreign pools, pools that are going, and pools that there never were are the same to a caller (I8). */
function poolMeant(deps: Pick<ResolveDeps, "cache" | "poolNamespace">, caller: Caller, from: string): SandboxPool {
  const { poolNamespace = defaultNamespace } = deps;
  const slash = from.indexOf("/");
  const namespace = slash === -1 ? poolNamespace : from.slice(0, slash);
  const pool = deps.cache.pools.get({ namespace, name: from.slice(slash + 1) });
  if (pool !== undefined && isOffered(caller, pool)) return pool;
  const available = deps.cache
    .listPools()
    .filter((other) => isOffered(caller, other))
    .take(maxAvailable)
    .map((other) => textOf(other, poolNamespace))
    .toArray();
  throw new ServiceError("not_found", `there is no pool ${JSON.stringify(from)}`, { field: "from", available });
}

function isOffered(caller: Caller, pool: SandboxPool): boolean {
  return pool.metadata.deletionTimestamp === undefined && mayUse(caller, pool);
}

function textOf(pool: SandboxPool, poolNamespace: string): string {
  const { namespace, name } = keyOf(pool);
  return namespace === poolNamespace ? name : `${namespace}/${name}`;
}

function templateFor(deps: Pick<ResolveDeps, "cache" | "poolNamespace">, pool: SandboxPool): PoolTemplate {
  const template = templateOf(deps, pool);
  if (template.kind === "template") return template.template;
  throw new ServiceError(
    "conflict",
    `pool ${textOf(pool, deps.poolNamespace ?? defaultNamespace)} is made from template ${template.name}, which there is not`,
  );
}

function imagesMeant(template: PoolTemplate, command: CreateSandbox): ContainerImages {
  const requested = requestedImages(template, command);
  if (requested.kind === "images") return requested.images;
  const field = command.containerImages === undefined ? "image" : "containerImages";
  throw new ServiceError("invalid_request", requested.message, { field });
}

/** Throws image_unavailable, or the signal's reason. */
export async function resolveImages(
  deps: Pick<ResolveDeps, "digests" | "commands">,
  { images, puller, first, runsImage: isImageRun }: Pick<ResolvedCreate, "images" | "puller" | "first" | "runsImage">,
  signal: AbortSignal,
): Promise<ResolvedImages> {
  try {
    const targets = await targetImages(pulledBy(deps, puller), images, signal);
    const own = isImageRun ? targets[first] : undefined;
    if (own === undefined) return { targets };
    return { targets, imageCommand: await deps.commands.commandOf(own.image, own.digest, { signal, puller }) };
  } catch (error) {
    if (!isImageError(error)) throw error;
    if (error.code === "invalid_reference") throw new ServiceError("invalid_request", error.message, { field: "image", cause: error });
    const wait = error.retryAfterMs === undefined ? {} : { retryAfterSeconds: Math.ceil(error.retryAfterMs / 1000) };
    throw new ServiceError("image_unavailable", error.message, { ...wait, cause: error });
  }
}

/** Kinds are checked before they are stored; what another version wrote is as if it were not there. */
function durationOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    return parseDuration(text);
  } catch {
    return undefined;
  }
}
