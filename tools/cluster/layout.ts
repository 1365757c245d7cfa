/** Where the cluster keeps its things, and what it calls them on this machine. */
import { homedir } from "node:os";
import { join } from "node:path";

/** One cluster per machine: names in the kernel are fixed. None begins as those of the embedded node do. */
export const bridge = "agentbox-k8s";
/** Of our own firewall table, the CNI network and the control group. */
export const ownName = "agentbox-cluster";
/** That kube-proxy keeps in its nftables mode. */
export const proxyTables = ["ip kube-proxy", "ip6 kube-proxy"];
/** What NetworkPolicies become. */
export const policyTable = "inet agentbox-k8s-policies";
export const nodeName = "agentbox";

// Above the networks that embedded nodes choose from (10.231 to 10.250).
export const podSubnet = "10.252.0.0/16";
export const serviceSubnet = "10.253.0.0/24";
/** Of the bridge: the node's, and under which pods and this machine reach the API server. */
export const nodeAddress = "10.252.0.1";
/** The first of the service subnet; the API server gives it to the service `kubernetes`. */
export const apiServiceAddress = "10.253.0.1";
/** Of the service `kube-dns`, where clusters usually have it. */
export const dnsServiceAddress = "10.253.0.10";
export const clusterDomain = "cluster.local";

export interface ClusterLayout {
  /** Holds all that is below, and goes with `make cluster-down`. */
  readonly folder: string;
  /** Taken while the cluster is brought up or down. Beside the folder, which may vanish. */
  readonly lock: string;
  /** Says that the cluster is up, and how to reach it. */
  readonly description: string;
  readonly kubeconfig: string;
  readonly settings: string;
  readonly logs: string;
  readonly pids: string;
  readonly credentials: string;
  readonly containerdSocket: string;
}

/** `make cluster`'s own, or one for a test in a folder of its own. */
export function clusterLayout(folder = defaultFolder()): ClusterLayout {
  return {
    folder,
    lock: `${folder}.lock`,
    description: join(folder, "cluster.json"),
    kubeconfig: join(folder, "kubeconfig"),
    settings: join(folder, "settings.json"),
    logs: join(folder, "logs"),
    pids: join(folder, "pids"),
    credentials: join(folder, "credentials"),
    containerdSocket: join(folder, "containerd.sock"),
  };
}

function defaultFolder(): string {
  const cache = process.env["AGENTBOX_CACHE"] ?? join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "agentbox");
  return join(cache, "cluster");
}

/** The contents of `cluster.json`. It is written last, so a program that finds it finds a cluster that was up. */
export interface ClusterDescription {
  readonly kubeconfig: string;
  /** For this machine and the node, over plain HTTP. */
  readonly registry: string;
  /** The same registry for pods: inside a pod `localhost` is the pod itself. */
  readonly podRegistry: string;
  readonly nodeAddress: string;
  /** Folder of kubectl, helm and ctr. */
  readonly bin: string;
}
