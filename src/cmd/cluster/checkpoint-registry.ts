/** Registries as a process on a cluster speaks with them, and the one of them in which checkpoints are kept. */
import { join } from "node:path";
import type { ServePartsRequest } from "#cli/context.ts";
import { CliError } from "#cli/failure.ts";
import type { CheckpointImages } from "#engine-port/checkpoint-images.ts";
import { type CheckpointRepository, checkpointRepository } from "#engines/kubernetes/checkpoints/checkpoint-repository.ts";
import { clusterCheckpoints } from "#engines/kubernetes/checkpoints/cluster-checkpoints.ts";
import { isImageError } from "#images/image-error.ts";
import { RegistryClient } from "#images/registry/client.ts";
import { readRegistryFile } from "#images/registry/settings-file.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { labelKeys } from "#model/keys.ts";
import { teamLimit } from "#model/limits.ts";
import { PullSecrets } from "#pools/pull-secrets.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { HomeFolder } from "#cmd/parts/home-folder.ts";
import { wishedPods } from "./wished-pods.ts";

export interface RegistriesOptions {
  readonly home: HomeFolder;
  readonly clock: Clock;
  readonly log: Logger;
}

/** With the settings of `registries.json` in the data folder. */
export async function openRegistries({ home, clock, log }: RegistriesOptions): Promise<RegistryClient> {
  const settings = await readRegistryFile(join(home.folder, "registries.json"));
  return new RegistryClient({ clock, log, random: Math.random, ...settings });
}

/** Undefined where no checkpoints are taken. */
export function repositoryOf(checkpoints: ServePartsRequest["checkpoints"]): CheckpointRepository | undefined {
  if (checkpoints === undefined) return undefined;
  try {
    return checkpointRepository(checkpoints.repository, checkpoints.credentialsFile);
  } catch (error) {
    if (isImageError(error)) throw new CliError(`--checkpoint-repository: ${error.message}`);
    throw error;
  }
}

export interface ClusterCheckpointOptions {
  readonly client: ObjectClient;
  readonly registries: RegistryClient;
  readonly repository: CheckpointRepository;
  readonly cache: Pick<SandboxCache, "checkpoints" | "limitTable" | "readPod" | "pods">;
  readonly clock: Clock;
  readonly log: Logger;
}

const mib = 2 ** 20;

export function openClusterCheckpoints({ client, registries, repository, cache, clock, log }: ClusterCheckpointOptions): CheckpointImages {
  const secrets = new PullSecrets({ client, clock, log });
  return clusterCheckpoints({
    pods: wishedPods({ client, cache }),
    clock,
    log,
    registry: { client: registries, clock, random: Math.random },
    repository,
    pullSecretsOf: ({ metadata: { namespace = "" }, spec: { serviceAccountName, imagePullSecrets } }) =>
      secrets.of({ namespace, ...(serviceAccountName && { serviceAccountName }), ...(imagePullSecrets && { imagePullSecrets }) }),
    room: (team) => ({ used: bytesOf(cache, team), most: teamLimit(cache.limitTable(), team, "imageMiB") * mib }),
  });
}

/** Also of those that are being deleted: their images are there as long. */
function bytesOf({ checkpoints }: Pick<SandboxCache, "checkpoints">, team: string): number {
  return checkpoints.objects
    .list()
    .filter(({ metadata: { labels } }) => labels?.[labelKeys.team] === team)
    .reduce((sum, { status }) => sum + (status?.sizeBytes ?? 0), 0);
}
