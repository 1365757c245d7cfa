/** The agent of one node. It needs no keys and no history: it knows the pods of its node, and the registry of checkpoints if there is one. */
import { join } from "node:path";
import type { ServePartsRequest } from "#cli/context.ts";
import { CliError } from "#cli/failure.ts";
import { ContainerGroups } from "#engines/kubernetes/node-agent/container-groups.ts";
import { startNodeAgent } from "#engines/kubernetes/node-agent/node-agent.ts";
import { defaultLimits } from "#images/layer/limits.ts";
import { MemberLease } from "#kube/members/member-lease.ts";
import { freezerOf, freezerTree } from "#lib/cgroups/freezer.ts";
import { openLayerTaker, type LayerTaker } from "#engines/kubernetes/node-layer/layer-taker.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { HomeFolder } from "#cmd/parts/home-folder.ts";
import type { ServerMetrics } from "#cmd/parts/server-metrics.ts";
import { clusterPace, connectCluster } from "./connect-cluster.ts";
import { openRegistries, repositoryOf } from "./checkpoint-registry.ts";
import type { Readiness } from "./health-port.ts";
import { nodeAgentMember, nodeAgentTiming } from "./node-agents.ts";

export interface NodePartOptions extends Pick<
  ServePartsRequest,
  "parts" | "kubeconfig" | "namespace" | "onlyNamespace" | "node" | "checkpoints"
> {
  readonly home: HomeFolder;
  readonly version: string;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  readonly metrics: ServerMetrics;
  readonly readiness: Readiness;
}

export async function startNodePart(options: NodePartOptions, running: AsyncDisposableStack): Promise<void> {
  const { clock, log, metrics, readiness, onlyNamespace } = options;
  const { name: nodeName = "", cgroupRoot } = options.node ?? { cgroupRoot: "" };
  const tree = freezerTree(cgroupRoot);
  if (tree === undefined) {
    throw new CliError(`no control groups that can be frozen are mounted at ${cgroupRoot}: neither cgroup v2 nor the freezer of v1`);
  }
  const cluster = running.use(await connectCluster(options));
  readiness.becomes("the pods of this node are not known yet");
  const { client, namespace } = cluster;
  const deps = {
    client,
    clock,
    log,
    metrics: metrics.metrics,
    freezer: freezerOf(tree.layout, clock),
    groups: new ContainerGroups(tree.top),
    layers: await layersOf(options, running),
  };
  const agent = running.use(startNodeAgent(deps, { nodeName, namespace: onlyNamespace, pace: clusterPace }));
  await agent.started;
  running.adopt(new MemberLease({ client, clock, log }, nodeAgentMember(namespace, nodeName), nodeAgentTiming), (lease) => lease.stop());
  log.info({ node: nodeName, layout: tree.layout, checkpoints: deps.layers !== undefined }, "node agent looks after its pods");
}

async function layersOf(
  { checkpoints, home, clock, log }: NodePartOptions,
  running: AsyncDisposableStack,
): Promise<LayerTaker | undefined> {
  const repository = repositoryOf(checkpoints);
  if (repository === undefined) return undefined;
  const client = running.use(await openRegistries({ home, clock, log }));
  return openLayerTaker({ client, repository, scratch: join(home.folder, "layers"), limits: { maxBytes: defaultLimits.maxBytes } });
}
