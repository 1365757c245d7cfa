/**
 * Processor time on a cluster of one machine, by part: the API server and its database, the node, daemons, AgentBox. All share the same cores, so the
 * total cost of a claim limits how many claims are possible.
 */
import { allProcesses, processMs, readIfThere, sum } from "../lib/process-time.ts";
import { busyMs } from "../lib/quiet-machine.ts";

/** Milliseconds by part, most first. */
export type ProcessorTime = ReadonlyMap<string, number>;

export interface KnownProcesses {
  readonly agentbox: number;
  /** The client that requests sandboxes. */
  readonly client: number;
}

/** What a process is called, cut to 15 characters by the kernel. */
const partOf: ReadonlyMap<string, string> = new Map([
  ["etcd", "etcd"],
  ["kube-apiserver", "API server"],
  ["kubelet", "kubelet"],
  ["containerd", "containerd"],
  ["containerd-shim", "containerd"],
  ["kube-scheduler", "other controllers"],
  ["kube-controller", "other controllers"],
]);

const inPods = "/agentbox-cluster/kubepods";

/** Reads what has been used so far; the difference of two readings is what was used between them. */
export function processorTimeReader({ agentbox, client }: KnownProcesses): () => ProcessorTime {
  return () => {
    const parts = new Map<string, number>([
      ["AgentBox", processMs(agentbox)],
      ["client", processMs(client)],
      ["pods", Number(readIfThere(`/sys/fs/cgroup/cpuacct${inPods}/cpuacct.usage`)) / 1e6],
    ]);
    for (const pid of allProcesses()) {
      const part = partOf.get(readIfThere(`/proc/${pid}/comm`).trim());
      if (part !== undefined) parts.set(part, (parts.get(part) ?? 0) + processMs(pid));
    }
    // Programs that start and end meanwhile, as runc does, are only in here.
    return parts.set("everything else", busyMs() - sum([...parts.values()]));
  };
}

export function timeBetween(before: ProcessorTime, after: ProcessorTime): ProcessorTime {
  const parts = [...after].map(([part, ms]) => [part, ms - (before.get(part) ?? 0)] as const);
  return new Map(parts.toSorted((left, right) => right[1] - left[1]));
}
