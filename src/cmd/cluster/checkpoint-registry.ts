/** Registries as a process on a cluster speaks with them, and the one of them in which checkpoints are kept. */
import { join } from "node:path";
import type { ServePartsRequest } from "#cli/context.ts";
import { CliError } from "#cli/failure.ts";
import type { CheckpointImages } from "#engine-port/checkpoint-images.ts";
import { type CheckpointRepository, checkpointRepository } from "#engines/kubernetes/checkpoints/checkpoint-repository.ts";
import type { WishedPods } from "#engines/kubernetes/checkpoints/ask-node.ts";
import { clusterCheckpoints } from "#engines/kubernetes/checkpoints/cluster-checkpoints.ts";
import { isImageError } from "#images/image-error.ts";
import { RegistryClient } from "#images/registry/client.ts";
import { readRegistryFile } from "#images/registry/settings-file.ts";
import { ApiError } from "#kube/api-error.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { teamLimit } from "#model/limits.ts";
import { Pods } from "#model/pod.ts";
import { type PodChange, podPatch } from "#sandbox/pod-patch.ts";
import { PullSecrets } from "#pools/pull-secrets.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { HomeFolder } from "#cmd/parts/home-folder.ts";

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

const writeTries = 10;

/** A claim that stands on a Lease is written with the wish: what a node does is decided by the pod alone. */
function wishedPods({ client, cache }: Pick<ClusterCheckpointOptions, "client" | "cache">): WishedPods {
  const change = (wish: string | null): PodChange =>
    wish === null ? { removeAnnotations: [annotationKeys.layerWish] } : { annotations: { [annotationKeys.layerWish]: wish } };
  return {
    read: ({ namespace, name }, signal) => cache.readPod(client, { namespace, name }, signal),
    annotate: async ({ uid, namespace, name }, wish) => {
      for (let tries = 1; ; tries++) {
        const pod = await cache.readPod(client, { namespace, name });
        if (pod.metadata.uid !== uid) throw new ApiError("NotFound", `pod ${name} is another one by now`);
        try {
          cache.pods.remember(await client.patch(Pods, { namespace, name }, podPatch(pod, change(wish))));
          return;
        } catch (error) {
          // Another write was first, such as that of its traffic.
          if (!isLostRace(error) || tries === writeTries) throw error;
        }
      }
    },
  };
}

/** Also of those that are being deleted: their images are there as long. */
function bytesOf({ checkpoints }: Pick<SandboxCache, "checkpoints">, team: string): number {
  return checkpoints.objects
    .list()
    .filter(({ metadata: { labels } }) => labels?.[labelKeys.team] === team)
    .reduce((sum, { status }) => sum + (status?.sizeBytes ?? 0), 0);
}
