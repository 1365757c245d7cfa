/** The node of this machine: what runs pods as containers. */
import { createHash } from "node:crypto";
import { existsSync, statfsSync } from "node:fs";
import { dirname, join } from "node:path";
import { type NodeAgent, type NodeAgentOptions, startNodeAgent } from "#engines/embedded/node/agent/agent.ts";
import { daemonFolder } from "#engines/embedded/node/daemon/daemon-folder.ts";
import type { CheckpointImages } from "#engine-port/checkpoint-images.ts";
import { embeddedCheckpoints } from "#engines/embedded/node/checkpoint-images.ts";
import { HeldImages } from "#engines/embedded/node/held-images.ts";
import { type DiskSpace, startImageSpace } from "#engines/embedded/node/image-space.ts";
import { hostImage } from "#engines/embedded/node/host-image/host-image.ts";
import { keepLife, lostBefore, noteDown } from "#engines/embedded/node/node-life.ts";
import { nodePaths } from "#engines/embedded/node/node-paths.ts";
import { erasePodRuntime, type MachineRuntime, openPodRuntime } from "#engines/embedded/node/runc-pod-runtime.ts";
import type { ObjectStore } from "#engines/embedded/store/object-store.ts";
import { ImageStore } from "#images/image-store.ts";
import { CachingCommandReader, type CommandReaderDeps } from "#images/read-command.ts";
import { RegistryClient } from "#images/registry/client.ts";
import { readRegistryFile } from "#images/registry/settings-file.ts";
import { CachingDigestResolver } from "#images/resolve-digest.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import { clusterImages } from "#pools/cluster-images.ts";
import type { ImageCommands, ImageDigests } from "#pools/pool-images.ts";
import { nodeSettings } from "./node-settings.ts";

export interface NodeOptions {
  /** AgentBox's data folder. */
  readonly home: string;
  readonly store: ObjectStore;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly publicKey: string;
  readonly teamOfPool?: NodeAgentOptions["teamOfPool"];
  /** In bytes: what images that a team's pods bring may take. */
  readonly imageLimitOf?: (team: string) => number;
  /** Where its settings are (node-settings.ts); all are as usual when left out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface EmbeddedNode extends AsyncDisposable {
  readonly agent: NodeAgent;
  readonly runtime: MachineRuntime;
  readonly digests: ImageDigests;
  readonly commands: ImageCommands;
  readonly checkpoints: CheckpointImages;
  /** What images that a team's pods have brought take. */
  readonly imageBytesOf: (team: string) => number;
}

const nodeName = "local";

export async function startEmbeddedNode(options: NodeOptions): Promise<EmbeddedNode> {
  const { home, store, clock, log, metrics, publicKey } = options;
  const { podLimits, imageSpace, imageLimits: limits, allowVulnerableRuntime } = nodeSettings(options.env ?? {});
  await using made = new AsyncDisposableStack();
  const registries = await readRegistryFile(join(home, "registries.json"));
  const client = made.use(new RegistryClient({ clock, log, random: Math.random, ...registries }));
  const hostFolder = join(home, "node", "host-image");
  const host = { digest: async () => (await hostImage(hostFolder)).digest, prepare: () => hostImage(hostFolder) };
  const folders = { folder: join(home, "images"), host };
  const images = made.use(await ImageStore.open({ ...folders, limits, clock, random: Math.random, client }));
  const folder = await daemonFolder({ parent: join(home, "node", "daemons") });
  const runtime = await openPodRuntime({ home, instance: instanceOf(home), clock, log, daemonFolder: folder, allowVulnerableRuntime });
  made.defer(() => runtime.close());
  const { imageLimitOf: limitOf = () => Infinity } = options;
  const held = await HeldImages.open({ images, runtime, clock, owner: nodeName, limitOf });
  const checkpoints = embeddedCheckpoints({ images, runtime, limitOf, onChange: () => held.teams() });
  const disk = (): DiskSpace => diskSpace(join(home, "images"));
  made.adopt(startImageSpace({ images, held, disk, limits: imageSpace, clock, log }), (timer) => timer.cancel());
  const lost = lostBefore(home, clock.now());
  made.use(keepLife({ home, clock, log }));
  const agent = await startNodeAgent({
    lost,
    client: store,
    binder: store,
    runtime,
    images: held,
    clock,
    log,
    metrics,
    nodeName,
    home,
    controlPlaneKey: publicKey,
    podLimits,
    ...(options.teamOfPool === undefined ? {} : { teamOfPool: options.teamOfPool }),
  });
  made.defer(() => agent.stop());
  const resolver = new CachingDigestResolver({ client, clock, localDigest: (reference) => images.localDigest(reference) });
  const localConfig: CommandReaderDeps["localConfig"] = (reference) => images.localConfig(reference);
  const reader = new CachingCommandReader({ client, clock, random: Math.random, localConfig });
  const asked = clusterImages({ client: store, hasAccounts: false, clock, log, resolver, reader });
  const parts = made.move();
  const imageBytesOf = (team: string): number => held.usedBytes(team);
  return { agent, runtime, digests: asked, commands: asked, checkpoints, imageBytesOf, [Symbol.asyncDispose]: () => parts.disposeAsync() };
}

/** Removes from this machine what the node of a folder left running there: containers, networks, groups, mounts. */
export async function eraseEmbeddedNode({ home, clock, log }: Pick<NodeOptions, "home" | "clock" | "log">): Promise<void> {
  await erasePodRuntime({ home, instance: instanceOf(home), clock, log });
  noteDown(home, clock.now());
}

/**
 * True if anything of a folder's node may be left. Its files and its state in memory can exist without each other: after a reboot, or after files were
 * removed.
 */
export function isOnMachine(home: string): boolean {
  const { lock, run } = nodePaths(home, instanceOf(home));
  return existsSync(dirname(lock)) || existsSync(run);
}

/** Names of ours in the kernel must not meet those of an AgentBox with another folder. */
export function instanceOf(home: string): string {
  return createHash("sha256").update(home).digest("hex").slice(0, 6);
}

/** What only root may still fill counts as used. */
function diskSpace(folder: string): DiskSpace {
  const { blocks, bavail, bsize } = statfsSync(folder);
  return { totalBytes: blocks * bsize, usedBytes: (blocks - bavail) * bsize };
}
