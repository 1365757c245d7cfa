/** What a request means: which pools could serve it, and for each of them which images with which digests, which times. Nothing is taken yet. */
import { keyOf } from "#kube/informer/indexed-store.ts";
import type { ImageCommand } from "#images/image-config.ts";
import { isImageError } from "#images/image-error.ts";
import { type ImagePullers, pulledBy, pullerOf, pullersOf, targetImages, templateOf } from "#pools/pool-images.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { conditionIn } from "#model/conditions.ts";
import { parseDuration } from "#model/duration.ts";
import { envConditions } from "#model/keys.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { PoolRef } from "#scheduling/pool-ref.ts";
import { eligibleMembers, type RouteRefusal } from "#scheduling/route-to-pools.ts";
import { isEnvProblem } from "#sandbox/envs/check-env.ts";
import { runsImage } from "#sandbox/pools/entrypoint.ts";
import { type ContainerImages, requestedImages, type TargetImages } from "#sandbox/images/images.ts";
import type { PoolTemplate, ResolvedTemplate } from "#sandbox/pools/resolve-template.ts";
import { servedInstead, targetsServed } from "#sandbox/pools/served-version.ts";
import type { Caller } from "#services/caller.ts";
import { checkKeys } from "./check-create.ts";
import type { SandboxClaimsDeps } from "./claim-deps.ts";
import { type CreateSource, findSource } from "./create-source.ts";
import { memberPool } from "./env-members.ts";
import { poolSize } from "#services/pools/pool-size.ts";
import type { CreateSandbox } from "#services/sandbox-service.ts";
import { isServiceError, ServiceError } from "#services/service-error.ts";

export interface ResolvedCreate {
  /** What the request named. */
  readonly source: CreateSource;
  /** What each pool that could serve it would make of it. At least one. */
  readonly offers: readonly [PoolOffer, ...PoolOffer[]];
  /** How long the whole create may take: the longest that one of these pools allows. */
  readonly startupTimeoutMs: number;
}

/** What a sandbox of one pool would be. */
export interface PoolOffer {
  readonly pool: PoolRef;
  /** What is asked for; `resolveOffers` says what that is today. */
  readonly images: ContainerImages;
  /** What that is, where it is known: the template has changed, and nothing of its new version is ready yet. */
  readonly targets?: TargetImages;
  /** Identity for looking up the images. */
  readonly pullers: ImagePullers;
  /** The container that is the sandbox. */
  readonly first: string;
  /** Whether it runs what its image runs by itself. */
  readonly runsImage: boolean;
  readonly startupTimeoutMs: number;
  readonly idleTimeoutMs: number;
}

/** With what a create needs to know of images before it takes a pod. */
export interface ReadyOffer extends PoolOffer {
  /** Every container with the image it is to run and that image's digest. */
  readonly targets: TargetImages;
  /** What the first container is to run. */
  readonly digest: string;
  /** Of the first container's, where sandboxes run it. */
  readonly imageCommand?: ImageCommand;
}

type ResolveDeps = Pick<SandboxClaimsDeps, "cache" | "digests" | "commands" | "poolNamespace">;

const defaultStartupTimeoutMs = 2 * 60 * 1000;

/** Throws ServiceError. */
export function resolveCreate(deps: Pick<ResolveDeps, "cache" | "poolNamespace">, caller: Caller, command: CreateSandbox): ResolvedCreate {
  const source = findSource(deps, caller, command.from);
  const pools = poolsFor(deps, source, command);
  const failures: ServiceError[] = [];
  const offers = pools.flatMap((pool) => {
    try {
      return [offerOf(deps, { caller, pool }, command)];
    } catch (error) {
      // Another member may be able to: templates of adopted pools differ.
      if (!isServiceError(error)) throw error;
      failures.push(error);
      return [];
    }
  });
  const [first, ...others] = offers;
  if (first === undefined) throw failures[0] ?? new Error(`${source.what} has no pool`);
  const startupTimeoutMs = Math.max(...offers.map((offer) => offer.startupTimeoutMs));
  return { source, offers: [first, ...others], startupTimeoutMs };
}

function poolsFor({ cache }: Pick<ResolveDeps, "cache">, source: CreateSource, command: CreateSandbox): readonly SandboxPool[] {
  const { env, pools, isPool, what } = source;
  const { instanceType, multiplier, scalingGroup, cpu, memory, templateVersion } = command;
  const sizeOf = cpu === undefined && memory === undefined ? undefined : (pool: SandboxPool) => poolSize(cache, pool);
  const members = pools.map((pool) => memberPool(env, pool, sizeOf));
  // A pool that is named has the size that it has.
  const defaults = isPool ? undefined : env?.spec.defaults;
  // A pool without an Env has one version: the one that it serves now.
  const version = env === undefined ? undefined : templateVersion;
  const wishes = withoutUndefined({ instanceType, multiplier, scalingGroup, cpu, memory, version });
  const found = eligibleMembers({ what, defaults }, members, wishes);
  if (found.kind === "members") return found.members.map(({ object }) => object);
  throw found.field === undefined ? noPools(source) : notOffered(found);
}

function notOffered({ field, message, available }: RouteRefusal): ServiceError {
  if (field === "version") return new ServiceError("not_found", message, { field: "templateVersion", available });
  return new ServiceError("invalid_request", message, { ...withoutUndefined({ field }), available });
}

/** Its members may be on their way, or may need something that its condition names. */
function noPools({ env, what }: CreateSource): ServiceError {
  const members = env?.spec.clusters?.some((cluster) => (cluster.members ?? []).length > 0) ?? false;
  if (!members) return new ServiceError("conflict", `${what} has no members: add one to create sandboxes from it`, { field: "from" });
  const ready = env === undefined ? undefined : conditionIn(env, envConditions.ready);
  const why = ready?.status === "False" ? `: ${ready.message}` : "";
  // No wait and no other try would help: the Env has to be changed.
  if (ready?.status === "False" && isEnvProblem(ready.reason))
    return new ServiceError("conflict", `${what} has no pool${why}`, { field: "from" });
  return new ServiceError("no_capacity", `${what} has no pool yet${why}`, { retryAfterSeconds: 1 });
}

interface OfferedPool {
  readonly caller: Caller;
  readonly pool: SandboxPool;
}

function offerOf(deps: Pick<ResolveDeps, "cache" | "poolNamespace">, offered: OfferedPool, command: CreateSandbox): PoolOffer {
  const { pool } = offered;
  const template = templateOf(deps, pool);
  const known = template.kind === "template" ? template.template : undefined;
  const { metadata } = known?.template ?? {};
  checkKeys(command, { labels: metadata?.labels, annotations: metadata?.annotations });
  const { defaultStartupTimeout, defaultIdleTimeout } = pool.spec;
  const { namespace = "", name } = keyOf(pool);
  return {
    pool: { namespace, name },
    ...(servedVersion(pool, known, command) ?? presentVersion(offered, template, command)),
    startupTimeoutMs: command.startupTimeoutMs ?? durationOf(defaultStartupTimeout) ?? defaultStartupTimeoutMs,
    idleTimeoutMs: command.idleTimeoutMs ?? durationOf(defaultIdleTimeout) ?? 0,
  };
}

type Version = Pick<PoolOffer, "images" | "targets" | "pullers" | "first" | "runsImage">;

/** An image that the request names is used. */
function servedVersion(pool: SandboxPool, template: PoolTemplate | undefined, command: CreateSandbox): Version | undefined {
  const served = command.image === undefined && command.containerImages === undefined ? servedInstead(pool, template) : undefined;
  if (served === undefined) return undefined;
  const targets = targetsServed(served.images);
  const images = Object.fromEntries(served.images.map(({ container, image }) => [container, image]));
  const puller = pullerOf(pool, template ?? {});
  return {
    images,
    targets,
    pullers: () => puller,
    first: served.images[0]?.container ?? "",
    runsImage: served.runsImage === true,
  };
}

function presentVersion({ caller, pool }: OfferedPool, resolved: ResolvedTemplate, command: CreateSandbox): Version {
  if (resolved.kind === "missing-template") {
    const message = `pool ${pool.metadata.name ?? ""} is made from template ${resolved.name}, which does not exist: create it, or change the template of the pool`;
    throw new ServiceError("conflict", message);
  }
  const { template } = resolved;
  return {
    images: imagesMeant(template, command),
    pullers: pullersOf(pool, template, { isAdmin: caller.role === "admin", team: caller.team }),
    first: template.template?.spec?.containers[0]?.name ?? "",
    runsImage: runsImage(template),
  };
}

function imagesMeant(template: PoolTemplate, command: CreateSandbox): ContainerImages {
  const requested = requestedImages(template, command);
  if (requested.kind === "images") return requested.images;
  const field = command.containerImages === undefined ? "image" : "containerImages";
  throw new ServiceError("invalid_request", requested.message, { field });
}

/** Offers whose images are available. Throws image_unavailable if there is none, or the signal's reason. */
export async function resolveOffers(
  deps: Pick<ResolveDeps, "digests" | "commands">,
  offers: readonly PoolOffer[],
  signal: AbortSignal,
): Promise<readonly [ReadyOffer, ...ReadyOffer[]]> {
  const settled = await Promise.allSettled(offers.map((offer) => readyOffer(deps, offer, signal)));
  const [first, ...others] = settled.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  if (first !== undefined) return [first, ...others];
  throw settled.find((outcome) => outcome.status === "rejected")?.reason;
}

async function readyOffer(deps: Pick<ResolveDeps, "digests" | "commands">, offer: PoolOffer, signal: AbortSignal): Promise<ReadyOffer> {
  const { images, targets: known, pullers, first, runsImage: isImageRun } = offer;
  try {
    const targets = known ?? (await targetImages(pulledBy(deps, pullers), images, signal));
    const own = targets[first];
    const ready = { ...offer, targets, digest: own?.digest ?? "" };
    if (own === undefined || !isImageRun) return ready;
    return { ...ready, imageCommand: await deps.commands.commandOf(own.image, own.digest, { signal, puller: pullers(own.image) }) };
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
