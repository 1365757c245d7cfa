/** What the cluster gives for its pods: a way into them, what image tags mean, and how the daemon comes in. */
import type { ServePart } from "#cli/context.ts";
import { watchClusterFeatures } from "#engines/kubernetes/cluster-features.ts";
import { CachingCommandReader } from "#images/read-command.ts";
import type { RegistryClient } from "#images/registry/client.ts";
import { CachingDigestResolver } from "#images/resolve-digest.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { PodAccess } from "#kube/pod-access.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { clusterImages } from "#pools/cluster-images.ts";
import type { ImageCommands, ImageDigests } from "#pools/pool-images.ts";
import type { DaemonDelivery, DaemonSettings } from "#sandbox/pods/daemon-delivery.ts";
import { labelKeys } from "#model/keys.ts";
import { checkpointsById } from "#read-model/indexes.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { HomeFolder } from "#cmd/parts/home-folder.ts";
import { openRegistries } from "./checkpoint-registry.ts";

export interface ClusterEngineOptions {
  readonly parts: readonly ServePart[];
  readonly client: ObjectClient;
  readonly pods: PodAccess;
  readonly home: HomeFolder;
  /** Default namespace of pools. */
  readonly poolNamespace: string;
  /** Not needed by a gateway. */
  readonly daemonImage: string | undefined;
  readonly cache: Pick<SandboxCache, "checkpoints">;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ClusterEngine extends AsyncDisposable, Pick<DaemonSettings, "delivery"> {
  readonly pods: PodAccess;
  readonly digests: ImageDigests;
  readonly commands: ImageCommands;
  readonly registries: RegistryClient;
  readonly userNamespaces: () => boolean;
}

export async function openClusterEngine(options: ClusterEngineOptions): Promise<ClusterEngine> {
  const { home, clock, log, parts, daemonImage: image = "" } = options;
  await using made = new AsyncDisposableStack();
  const registries = made.use(await openRegistries({ home, clock, log }));
  const asking = { client: registries, clock, random: Math.random };
  const images = clusterImages({
    ...options,
    resolver: new CachingDigestResolver(asking),
    reader: new CachingCommandReader(asking),
    checkpointTeam: (id) => teamOfCheckpoint(options.cache, id),
  });
  // Parts that create pods must know the cluster's features; for other parts only the image matters.
  const features = parts.includes("controllers")
    ? made.use(await watchClusterFeatures({ ...options, namespace: options.poolNamespace }))
    : { imageVolumes: () => true, userNamespaces: () => false };
  const delivery = (): DaemonDelivery => ({ kind: features.imageVolumes() ? "image-volume" : "init-container", image });
  const opened = made.move();
  return {
    pods: options.pods,
    digests: images,
    commands: images,
    registries,
    delivery,
    userNamespaces: features.userNamespaces,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Also of one that is being deleted: what names it may go on to use it. */
function teamOfCheckpoint({ checkpoints }: Pick<SandboxCache, "checkpoints">, id: string): string | undefined {
  const found = checkpoints.objects.lookup(checkpointsById, id).find(() => true);
  return found && (found.metadata.labels?.[labelKeys.team] ?? "");
}
