/** What a cluster can do with AgentBox on it: kubelets neither freeze sandboxes nor enforce egress policies; our agents on the nodes freeze. */
import { able, type Ability, type EngineAbilities, unable } from "#engine-port/abilities.ts";

export interface ClusterFacts {
  /** Whether an agent of ours runs on this node; without a name: on any node. */
  readonly freezes: (nodeName?: string) => boolean;
  /** Whether every node can give a pod users of its own. */
  readonly userNamespaces: () => boolean;
  /** True while the API server is known not to answer. */
  readonly isServerGone: () => boolean;
}

export function kubernetesAbilities(facts: ClusterFacts): EngineAbilities {
  return {
    pause: (nodeName) => (facts.freezes(nodeName) ? able : cannotPause(facts, nodeName)),
    checkpoint: () => noCheckpoints,
    memoryCheckpoint: () => noCheckpoints,
    egress: () => noEgress,
    volumes: () => noVolumes,
    userNamespaces: () => (facts.userNamespaces() ? able : noUsers),
    objects: () => (facts.isServerGone() ? gone : able),
  };
}

function cannotPause({ freezes }: ClusterFacts, nodeName: string | undefined): Ability {
  const which = freezes() ? `the node ${nodeName} has no agent` : "no node of this cluster has an agent";
  return unable(
    `${which} that could freeze a sandbox: it can run or end, but not pause (an operator can change that: nodeAgent.enabled of the Helm chart)`,
  );
}

const noCheckpoints = unable(
  "checkpoints of sandboxes are not taken on a cluster by this version: copy files out of the sandbox, or run AgentBox on one machine (agentbox up)",
);
const noEgress = unable(
  "this cluster cannot enforce egress rules of single sandboxes: close networks for all of them with NetworkPolicies",
);
const noVolumes = unable(
  "volumes are not there on Kubernetes yet: name a PersistentVolumeClaim in the SandboxTemplate instead, which every sandbox of the pool then shares",
);
const noUsers = unable("not every node of this cluster can give a pod Linux users of its own");
const gone = unable("the object server does not answer now: sandboxes that run go on, new ones cannot be made");
