import { describe, expect, onTestFinished, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { ClusterNode } from "#model/cluster-kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import type { Pod } from "#model/pod.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { settle, SteppedClock } from "../../../test/world/stepped-clock.ts";
import { type ClusterFeatures, type FeatureDeps, watchClusterFeatures } from "./cluster-features.ts";

interface Cluster {
  /** What the server makes of a pod that is tried. */
  take: (pod: Pod) => Pod;
  nodes: readonly ClusterNode[];
}

function aNode(more: { kubelet?: string; runtime?: string; users?: boolean; ready?: boolean; unschedulable?: boolean } = {}): ClusterNode {
  const { kubelet = "v1.36.3", runtime = "containerd://2.2.1", users = true, ready = true, unschedulable = false } = more;
  return {
    metadata: { name: "n" },
    spec: { unschedulable },
    status: {
      conditions: [{ type: "Ready", status: ready ? "True" : "Unknown" }],
      nodeInfo: { kubeletVersion: kubelet, containerRuntimeVersion: runtime },
      runtimeHandlers: [{ name: "", features: { userNamespaces: users } }, { name: "kata" }],
    },
  };
}

const kept = (pod: Pod): Pod => pod;
const refusedVolume = (): never => {
  throw new ApiError("Invalid", "spec.volumes[0]: Required value: must specify a volume type");
};

interface Seen extends ClusterFeatures {
  readonly cluster: Cluster;
  readonly clock: SteppedClock;
  readonly dryRuns: readonly unknown[];
  readonly lines: readonly { readonly msg: string }[];
}

async function watched(cluster: Cluster): Promise<Seen> {
  const clock = new SteppedClock();
  const { log, lines } = recordedLog();
  const dryRuns: unknown[] = [];
  const client = {
    create: async (_type: unknown, pod: ApiObject, options?: { dryRun?: boolean }) => {
      dryRuns.push(options?.dryRun);
      return cluster.take(pod as Pod);
    },
    list: async (_type: unknown, { continue: from }: { continue?: string } = {}) => {
      const at = Number(from ?? 0);
      const next = at + 1 < cluster.nodes.length ? { continue: String(at + 1) } : {};
      return { items: cluster.nodes.slice(at, at + 1), resourceVersion: "1", ...next };
    },
    // Their results are of the kind that is asked for, which no single function can be.
  } as unknown as Pick<ObjectClient, "create" | "list">;
  const deps: FeatureDeps = { client, clock, log, namespace: "ns", random: () => 0.5 };
  const features = await watchClusterFeatures(deps);
  onTestFinished(() => features[Symbol.asyncDispose]());
  return { ...features, cluster, clock, dryRuns, lines };
}

describe("image volumes", () => {
  test.each<[string, boolean, Cluster]>([
    ["are there when the server keeps them and every node is new enough", true, { take: kept, nodes: [aNode(), aNode()] }],
    ["are there when there is no node yet to say otherwise", true, { take: kept, nodes: [] }],
    ["are not there when the server refuses the volume", false, { take: refusedVolume, nodes: [aNode()] }],
    [
      "are not there when the server drops them",
      false,
      { take: (pod) => ({ ...pod, spec: { ...pod.spec, volumes: [{ name: "tried" }] } }), nodes: [aNode()] },
    ],
    ["are not there when a node's runtime is too old", false, { take: kept, nodes: [aNode(), aNode({ runtime: "containerd://1.7.27" })] }],
    ["are not there when a kubelet is too old", false, { take: kept, nodes: [aNode({ kubelet: "v1.32.4" })] }],
    ["are not there when the runtime is unknown", false, { take: kept, nodes: [aNode({ runtime: "other://9.9.9" })] }],
    ["are there on CRI-O", true, { take: kept, nodes: [aNode({ runtime: "cri-o://1.34.0" })] }],
    ["do not depend on nodes that take no pods", true, { take: kept, nodes: [aNode(), aNode({ ready: false, kubelet: "v1.20.0" })] }],
    ["do not depend on cordoned nodes", true, { take: kept, nodes: [aNode(), aNode({ unschedulable: true, kubelet: "v1.20.0" })] }],
  ])("%s", async (_, expected, cluster) => {
    const { imageVolumes, dryRuns } = await watched(cluster);
    expect(imageVolumes()).toBe(expected);
    expect(dryRuns).toEqual([true]);
  });
});

describe("users of a pod's own", () => {
  test.each<[string, boolean, readonly ClusterNode[]]>([
    ["are there when every node reports them", true, [aNode(), aNode()]],
    ["are not there when one does not", false, [aNode(), aNode({ users: false })]],
    ["are not there when no node says anything", false, []],
  ])("%s", async (_, expected, nodes) => {
    expect((await watched({ take: kept, nodes })).userNamespaces()).toBe(expected);
  });
});

test("a cluster that was upgraded is noticed", async () => {
  const { imageVolumes, cluster, clock } = await watched({ take: refusedVolume, nodes: [aNode()] });
  expect(imageVolumes()).toBe(false);
  cluster.take = kept;
  await clock.step(9 * 60_000);
  expect(imageVolumes()).toBe(false);
  await clock.step(2 * 60_000);
  expect(imageVolumes()).toBe(true);
});

test("what is known stays known while the server does not answer, and it is asked again soon", async () => {
  const { imageVolumes, cluster, clock, lines } = await watched({ take: kept, nodes: [aNode()] });
  cluster.take = () => {
    throw new ApiError("Unreachable", "no answer");
  };
  await clock.step(11 * 60_000);
  expect(imageVolumes()).toBe(true);
  expect(lines.map(({ msg }) => msg)).toContain("features of the cluster could not be found out");
  cluster.take = refusedVolume;
  await clock.step(31_000);
  expect(imageVolumes()).toBe(false);
});

test("a server that refuses the tried pod for another reason leaves the safe way", async () => {
  const { imageVolumes } = await watched({
    take: () => {
      throw new ApiError("Forbidden", "exceeded quota");
    },
    nodes: [aNode()],
  });
  expect(imageVolumes()).toBe(false);
});

test("nothing is asked after the end", async () => {
  const { clock, dryRuns, ...features } = await watched({ take: kept, nodes: [aNode()] });
  await features[Symbol.asyncDispose]();
  await clock.step(60 * 60_000);
  await settle();
  expect(dryRuns).toHaveLength(1);
});
