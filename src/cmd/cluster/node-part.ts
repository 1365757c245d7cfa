/** The agent of one node. It needs no keys, no history and no images: it knows the pods of its node, and nothing else of AgentBox. */
import type { ServePartsRequest } from "#cli/context.ts";
import { CliError } from "#cli/failure.ts";
import { ContainerGroups } from "#engines/kubernetes/node-agent/container-groups.ts";
import { startNodeAgent } from "#engines/kubernetes/node-agent/node-agent.ts";
import { MemberLease } from "#kube/members/member-lease.ts";
import { freezerOf, freezerTree } from "#lib/cgroups/freezer.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { ServerMetrics } from "#cmd/parts/server-metrics.ts";
import { clusterPace, connectCluster } from "./connect-cluster.ts";
import type { Readiness } from "./health-port.ts";
import { nodeAgentMember, nodeAgentTiming } from "./node-agents.ts";

export interface NodePartOptions extends Pick<ServePartsRequest, "parts" | "kubeconfig" | "namespace" | "onlyNamespace" | "node"> {
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
  };
  const agent = running.use(startNodeAgent(deps, { nodeName, namespace: onlyNamespace, pace: clusterPace }));
  await agent.started;
  running.adopt(new MemberLease({ client, clock, log }, nodeAgentMember(namespace, nodeName), nodeAgentTiming), (lease) => lease.stop());
  log.info({ node: nodeName, layout: tree.layout }, "node agent looks after its pods");
}
