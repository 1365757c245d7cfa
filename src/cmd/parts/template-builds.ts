/** Template builds, wired: their records in the object store, their logs and files in a folder of this machine. */
import type { KeyObject } from "node:crypto";
import { join } from "node:path";
import { BuildFailure } from "#builds/build-failure.ts";
import { isImageError } from "#images/image-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { localClusterID } from "#model/keys.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { ImageDigests } from "#pools/pool-images.ts";
import { templateOf } from "#pools/pool-images.ts";
import { type BaseImages, baseImages, type ImageMap } from "#services/builds/base-images.ts";
import { BuildBook } from "#services/builds/build-book.ts";
import { BuildLoop } from "#services/builds/build-loop.ts";
import { BuildLogs } from "#services/builds/build-logs.ts";
import type { LayerTaker } from "#services/builds/layer-taker.ts";
import { Shelf } from "#services/builds/shelf.ts";
import { templateBuilds, type TemplateBuilds } from "#services/builds/template-builds.ts";
import { UploadStore } from "#services/builds/upload-store.ts";
import { uploadTokens } from "#services/builds/upload-tokens.ts";
import type { CheckpointService } from "#services/checkpoints/checkpoint-service.ts";
import type { CreateSources } from "#services/creating/create-sources.ts";
import type { EnvService } from "#services/envs/env-service.ts";
import type { SandboxInside } from "#services/inside/sandbox-inside.ts";
import type { LimitGuard } from "#services/limits/limit-guard.ts";
import type { SandboxService } from "#services/sandbox-service.ts";
import { isServiceError } from "#services/service-error.ts";
import { systemNamespace } from "./serve-api.ts";

/** Where builds keep what is no object. */
export interface BuildsOptions {
  readonly folder: string;
  /** Mapped on a server whose admin has mapped nothing. */
  readonly usualImages: ImageMap;
  /** The Env whose pods run builds. */
  readonly builderEnv: string;
}

export interface TemplateBuildParts {
  readonly options: BuildsOptions;
  readonly book: BuildBook;
  readonly client: ObjectClient;
  readonly cache: SandboxCache;
  readonly digests: ImageDigests;
  readonly checkpoints: CheckpointService;
  readonly sandboxes: SandboxService;
  readonly inside: SandboxInside;
  readonly sources: CreateSources;
  readonly envs: EnvService;
  readonly guard: LimitGuard;
  readonly privateKey: KeyObject;
  readonly poolNamespace?: string | undefined;
  readonly clock: MonotonicClock;
  readonly log: Logger;
}

export interface OpenedBuilds extends AsyncDisposable {
  readonly builds: TemplateBuilds;
  /** Takes up what an ended process has left, once the cache has everything. */
  open(): void;
}

const hourMs = 3_600_000;
const mib = 1024 ** 2;
const limits = { stepMs: hourMs, buildMs: 4 * hourMs, lifetimeMs: 5 * hourMs, atOnce: 3 } as const;

/** Undefined where the cache follows no Secrets. */
export function bookOver({ client, cache }: Pick<TemplateBuildParts, "client" | "cache">): BuildBook | undefined {
  const { system } = cache;
  return system && new BuildBook({ client, secrets: system.secrets, namespace: systemNamespace });
}

export function openTemplateBuilds(parts: TemplateBuildParts): OpenedBuilds {
  const { options, book, client, cache, guard, privateKey, clock, poolNamespace: namespace = "default" } = parts;
  const layers = layersOf(parts.checkpoints);
  const logs = new BuildLogs({ folder: join(options.folder, "logs"), clock });
  const teamBytes = (team: string): number => (guard.ofTeam(team, "buildFilesMiB") ?? Number.POSITIVE_INFINITY) * mib;
  const uploads = new UploadStore({ folder: join(options.folder, "files"), clock, teamBytes });
  const publish = { client, cache, envs: parts.envs, namespace, clusterId: localClusterID };
  const shelf = new Shelf({ ...publish, book, logs, uploads, layers, clock });
  const loop = new BuildLoop({ ...parts, ...baseOf(parts), ...limits, layers, logs, uploads, shelf, builderEnv: options.builderEnv });
  const tokens = uploadTokens(privateKey, clock);
  return {
    builds: templateBuilds({ book, loop, shelf, logs, uploads, tokens, publish, limits: guard, clock }),
    open: () => loop.open(),
    [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose](),
  };
}

/** A layer is a checkpoint, which no list shows that is not asked for those of builds. */
function layersOf(checkpoints: CheckpointService): LayerTaker {
  return {
    take: async (owner, { sandboxId, context: { env, workdir: workingDir } }, signal) => {
      const config = { env, ...(workingDir !== undefined && { workingDir }) };
      const { id: checkpoint, image } = await checkpoints.take(owner, { sandboxId, purpose: "build", config }, signal);
      if (image === undefined) throw new Error(`checkpoint ${checkpoint} has no image`);
      return { image, checkpoint };
    },
    isThere: async (owner, id) => {
      try {
        return (await checkpoints.get(owner, id)).phase === "Succeeded";
      } catch (error) {
        if (isServiceError(error, "not_found")) return false;
        throw error;
      }
    },
    remove: async (owner, id) => {
      try {
        await checkpoints.delete(owner, id);
      } catch (error) {
        if (!isServiceError(error, "not_found")) throw error;
      }
    },
  };
}

function baseOf({ cache, digests, options }: TemplateBuildParts) {
  const { system } = cache;
  if (system === undefined) throw new Error("template builds need a system namespace");
  const images = baseImages({ configMaps: system.configMaps, namespace: systemNamespace }, options.usualImages);
  return {
    images,
    digestOf: async (image: string, signal: AbortSignal) => (await digests.resolve(image, { signal })).digest,
    imageOf: (pool: SandboxPool): string | undefined => {
      const template = templateOf({ cache }, pool);
      return template.kind === "template" ? template.template.template?.spec?.containers[0]?.image : undefined;
    },
    asBaseFailure: (error: unknown): unknown => asBaseFailure(images, error),
  };
}

/** An image that cannot be had is for the author of the template to see to. */
function asBaseFailure({ hint }: BaseImages, error: unknown): unknown {
  if (!isImageError(error) && !isServiceError(error, "image_unavailable", "invalid_request", "not_found")) return error;
  return new BuildFailure("base", `${error.message}. ${hint}`, { cause: error });
}
