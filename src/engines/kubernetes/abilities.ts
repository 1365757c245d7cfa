/**
 * What a cluster can do with AgentBox on it: kubelets neither freeze sandboxes nor enforce egress policies nor take checkpoints; our agents on the nodes freeze, and
 * take checkpoints where there is a registry for them.
 */
import { able, type Ability, type EngineAbilities, unable } from "#engine-port/abilities.ts";

export interface ClusterFacts {
  /** Whether an agent of ours runs on this node; without a name: on any node. */
  readonly freezes: (nodeName?: string) => boolean;
  /** Whether there is a registry for the images of checkpoints. */
  readonly hasCheckpointRegistry: boolean;
  /** Whether every node can give a pod users of its own. */
  readonly userNamespaces: () => boolean;
  /** True while the API server is known not to answer. */
  readonly isServerGone: () => boolean;
}

export function kubernetesAbilities(facts: ClusterFacts): EngineAbilities {
  return {
    pause: (nodeName) => (facts.freezes(nodeName) ? able : cannotPause(facts, nodeName)),
    checkpoint: (nodeName) => checkpointAbility(facts, nodeName),
    deepPause: () => noDeepPause,
    memoryCheckpoint: () => noMemory,
    egress: () => noEgress,
    volumes: () => noVolumes,
    userNamespaces: () => (facts.userNamespaces() ? able : noUsers),
    objects: () => (facts.isServerGone() ? gone : able),
  };
}

function cannotPause(facts: ClusterFacts, nodeName: string | undefined): Ability {
  return unable(
    `${withoutAgent(facts, nodeName)} that could freeze a sandbox: it can run or end, but not pause (an operator can change that: nodeAgent.enabled of the Helm chart)`,
  );
}

function checkpointAbility(facts: ClusterFacts, nodeName: string | undefined): Ability {
  if (!facts.hasCheckpointRegistry) return noRegistry;
  if (facts.freezes(nodeName)) return able;
  return unable(
    `${withoutAgent(facts, nodeName)} that could take a checkpoint of a sandbox (an operator can change that: nodeAgent.enabled of the Helm chart)`,
  );
}

function withoutAgent({ freezes }: ClusterFacts, nodeName: string | undefined): string {
  return freezes() ? `the node ${nodeName} has no agent` : "no node of this cluster has an agent";
}

const noRegistry = unable(
  "this installation has no registry for the images of checkpoints: an operator gives it one with checkpoints.repository of the Helm chart (agentbox serve --checkpoint-repository); until then copy files out of the sandbox",
);
const noMemory = unable("the memory of a sandbox cannot be kept on a cluster: take a checkpoint of its files, or pause it");
const noDeepPause = unable(
  "a sandbox cannot give back its pod while it is paused on a cluster: pause it with its memory, or take a checkpoint and end it",
);
const noEgress = unable(
  "this cluster cannot enforce egress rules of single sandboxes: close networks for all of them with NetworkPolicies",
);
const noVolumes = unable(
  "volumes are not there on Kubernetes yet: name a PersistentVolumeClaim in the SandboxTemplate instead, which every sandbox of the pool then shares",
);
const noUsers = unable("not every node of this cluster can give a pod Linux users of its own");
const gone = unable("the object server does not answer now: sandboxes that run go on, new ones cannot be made");
