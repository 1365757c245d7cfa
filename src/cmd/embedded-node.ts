/** The node of this machine: what runs pods as containers. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { type NodeAgent, startNodeAgent } from "#engines/embedded/node/agent/agent.ts";
import { daemonFolder } from "#engines/embedded/node/daemon/daemon-folder.ts";
import { hostImage } from "#engines/embedded/node/host-image/host-image.ts";
import type { PodRuntime } from "#engines/embedded/node/pod-runtime.ts";
import { erasePodRuntime, openPodRuntime } from "#engines/embedded/node/runc-pod-runtime.ts";
import type { ObjectStore } from "#engines/embedded/store/object-store.ts";
import type { Digest } from "#images/digest.ts";
import { ImageStore } from "#images/image-store.ts";
import { RegistryClient } from "#images/registry/client.ts";
import { readRegistryFile } from "#images/registry/settings-file.ts";
import { CachingDigestResolver, type DigestResolver } from "#images/resolve-digest.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";

export interface NodeOptions {
  /** AgentBox's data folder. */
  readonly home: string;
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly publicKey: string;
}

export interface EmbeddedNode extends AsyncDisposable {
  readonly agent: NodeAgent;
  readonly runtime: PodRuntime;
  readonly digests: DigestResolver;
}

const nodeName = "local";

export async function startEmbeddedNode(options: NodeOptions): Promise<EmbeddedNode> {
  const { home, store, clock, log, metrics, publicKey } = options;
  await using made = new AsyncDisposableStack();
  const registries = await readRegistryFile(join(home, "registries.json"));
  const client = made.use(new RegistryClient({ clock, random: Math.random, ...registries }));
  const hostFolder = join(home, "node", "host-image");
  const host = { digest: async () => (await hostImage(hostFolder)).digest, prepare: () => hostImage(hostFolder) };
  const images = made.use(await ImageStore.open({ folder: join(home, "images"), clock, random: Math.random, client, host }));
  const folder = await daemonFolder({ parent: join(home, "node", "daemons") });
  const runtime = await openPodRuntime({ home, instance: instanceOf(home), clock, log, daemonFolder: folder });
  made.defer(() => runtime.close());
  const holding = await holdingImages(
    images,
    (await runtime.list()).flatMap((pod) => pod.containers.map((one) => one.imageDigest as Digest)),
  );
  const agent = await startNodeAgent({
    client: store,
    binder: store,
    runtime,
    images: holding,
    clock,
    log,
    metrics,
    nodeName,
    home,
    controlPlaneKey: publicKey,
  });
  made.defer(() => agent.stop());
  const digests = new CachingDigestResolver({ client, clock, localDigest: (reference) => images.localDigest(reference) });
  const parts = made.move();
  return { agent, runtime, digests, [Symbol.asyncDispose]: () => parts.disposeAsync() };
}

/** Removes from this machine what the node of a folder left running there: containers, networks, groups, mounts. */
export async function eraseEmbeddedNode({ home, clock, log }: Pick<NodeOptions, "home" | "clock" | "log">): Promise<void> {
  await erasePodRuntime({ home, instance: instanceOf(home), clock, log });
}

/** Names of ours in the kernel must not meet those of an AgentBox with another folder. */
export function instanceOf(home: string): string {
  return createHash("sha256").update(home).digest("hex").slice(0, 6);
}

/** Whatever a pod was given stays on disk while it may be in use: until the next start looks what still is. */
async function holdingImages(images: ImageStore, inUse: readonly Digest[]): Promise<Pick<ImageStore, "ensure">> {
  const held = new Set(inUse);
  await images.hold(nodeName, held);
  return {
    ensure: async (reference, options) => {
      const image = await images.ensure(reference, options);
      if (!held.has(image.digest)) await images.hold(nodeName, held.add(image.digest));
      return image;
    },
  };
}
