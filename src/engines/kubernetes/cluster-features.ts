/**
 * What this cluster can do that not every cluster can: image volumes, and users of a pod's own. Found out by asking it, and asked again
 * now and then, because clusters are upgraded under us. What is not known counts as not there: there is another way for both.
 */
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { type Random, spread } from "#lib/backoff.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { type ClusterNode, ClusterNodes } from "#model/cluster-kinds.ts";
import { type Pod, Pods } from "#model/pod.ts";

export interface FeatureDeps {
  readonly client: Pick<ObjectClient, "create" | "list">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Where pods are made: a pod that is never stored is tried there. */
  readonly namespace: string;
  readonly random?: Random;
  readonly everyMs?: number;
}

export interface ClusterFeatures extends AsyncDisposable {
  readonly imageVolumes: () => boolean;
  readonly userNamespaces: () => boolean;
}

const usualEveryMs = 10 * 60_000;
/** After a look that failed. */
const soonMs = 30_000;
const nodesAtOnce = 500;

/** Resolves when the cluster has been asked once, whether it answered or not. */
export async function watchClusterFeatures(deps: FeatureDeps): Promise<ClusterFeatures> {
  const stop = new AbortController();
  let known = { imageVolumes: false, userNamespaces: false };
  const look = async (): Promise<number> => {
    try {
      const found = await lookForFeatures(deps, stop.signal);
      if (found.imageVolumes !== known.imageVolumes || found.userNamespaces !== known.userNamespaces) {
        deps.log.info({ ...found }, "features of the cluster");
      }
      known = found;
      return deps.everyMs ?? usualEveryMs;
    } catch (error) {
      if (!stop.signal.aborted) deps.log.warn({ error, ...known }, "features of the cluster could not be found out");
      return soonMs;
    }
  };
  const firstMs = await look();
  const loop = repeat(deps, look, firstMs, stop.signal);
  return {
    imageVolumes: () => known.imageVolumes,
    userNamespaces: () => known.userNamespaces,
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error("the features of the cluster are no longer followed"));
      await loop;
    },
  };
}

async function repeat(deps: FeatureDeps, look: () => Promise<number>, firstMs: number, signal: AbortSignal): Promise<void> {
  const { clock, random = Math.random } = deps;
  for (let waitMs = firstMs; !signal.aborted; waitMs = await look()) {
    const isOver = await sleep(clock, spread(waitMs, 0.2, random), signal).then(
      () => false,
      () => true,
    );
    if (isOver) return;
  }
}

interface Features {
  readonly imageVolumes: boolean;
  readonly userNamespaces: boolean;
}

async function lookForFeatures(deps: FeatureDeps, signal: AbortSignal): Promise<Features> {
  const [isTaken, nodes] = await Promise.all([takesImageVolumes(deps, signal), readyNodes(deps, signal)]);
  return {
    imageVolumes: isTaken && nodes.every(mountsImages),
    // Without a node nothing is known of nodes to come.
    userNamespaces: nodes.length > 0 && nodes.every(hasUserNamespaces),
  };
}

/** A server that does not know the field drops it, and then misses the volume's source, or answers with a volume that has none. */
async function takesImageVolumes({ client, namespace }: FeatureDeps, signal: AbortSignal): Promise<boolean> {
  try {
    const { spec } = await client.create(Pods, { ...triedPod, metadata: { ...triedPod.metadata, namespace } }, { dryRun: true, signal });
    return spec.volumes?.some(({ image }) => image !== undefined) ?? false;
  } catch (error) {
    if (isApiError(error, "Invalid", "BadRequest")) return false;
    throw error;
  }
}

/** Within every bound that a namespace may set on pods, so that only its volume can be refused. */
const triedPod: Pod = {
  metadata: { generateName: "agentbox-image-volume-" },
  spec: {
    automountServiceAccountToken: false,
    restartPolicy: "Never",
    securityContext: { runAsNonRoot: true, runAsUser: 65_532, seccompProfile: { type: "RuntimeDefault" } },
    volumes: [{ name: "tried", image: { reference: "registry.invalid/tried:1", pullPolicy: "IfNotPresent" } }],
    containers: [
      {
        name: "tried",
        image: "registry.invalid/tried:1",
        volumeMounts: [{ name: "tried", mountPath: "/tried", readOnly: true }],
        resources: { requests: { cpu: "1m", memory: "1Mi" }, limits: { cpu: "1m", memory: "1Mi" } },
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
      },
    ],
  },
};

async function readyNodes({ client }: FeatureDeps, signal: AbortSignal): Promise<readonly ClusterNode[]> {
  const nodes: ClusterNode[] = [];
  for (let from: string | undefined; ;) {
    const part = await client.list(ClusterNodes, { limit: nodesAtOnce, ...(from === undefined ? {} : { continue: from }), signal });
    nodes.push(...part.items.filter(isReady));
    from = part.continue;
    if (from === undefined || from === "") return nodes;
  }
}

function isReady({ spec, status }: ClusterNode): boolean {
  return spec?.unschedulable !== true && (status?.conditions ?? []).some(({ type, status: is }) => type === "Ready" && is === "True");
}

/** The first releases with them; kubelets and runtimes are upgraded one by one, long after the server. */
const firstKubelet: Version = [1, 33];
const firstRuntimes: Readonly<Record<string, Version>> = { containerd: [2, 1], "cri-o": [1, 31] };

type Version = readonly [major: number, minor: number];

function mountsImages({ status }: ClusterNode): boolean {
  const { kubeletVersion = "", containerRuntimeVersion = "" } = status?.nodeInfo ?? {};
  const [runtime = "", version = ""] = containerRuntimeVersion.split("://");
  const first = Object.hasOwn(firstRuntimes, runtime) ? firstRuntimes[runtime] : undefined;
  return isAtLeast(kubeletVersion, firstKubelet) && first !== undefined && isAtLeast(version, first);
}

function isAtLeast(text: string, [major, minor]: Version): boolean {
  const [, first = "", second = ""] = /^v?(\d+)\.(\d+)/.exec(text) ?? [];
  if (first === "") return false;
  return Number(first) > major || (Number(first) === major && Number(second) >= minor);
}

function hasUserNamespaces({ status }: ClusterNode): boolean {
  return (status?.runtimeHandlers ?? []).some(({ name = "", features }) => name === "" && features?.userNamespaces === true);
}
