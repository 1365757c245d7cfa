/** What the runtime is told of a pod as a whole. */
import { parseQuantity } from "#model/quantity.ts";
import type { PodPlan } from "../../pod-runtime.ts";
import { wantedEgress } from "../plan/egress.ts";
import type { NodePod } from "../node-pod.ts";

const maxHostname = 63;

/** What holds for pods that say nothing themselves. */
export interface UsualLimits {
  /** How many processes a pod may have; pods cannot say it. */
  readonly pids: number;
  /** For each container that has no limit of its own: no disk, and no log on it, is as large as the machine's. */
  readonly ephemeralStorageBytes: number;
}

export function podSlot(pod: NodePod, usual: UsualLimits): PodPlan {
  const { metadata, spec } = pod;
  return {
    uid: metadata.uid,
    namespace: metadata.namespace,
    name: metadata.name,
    hostname: hostnameOf(pod),
    limits: { pids: usual.pids, cpuShares: cpuShares(pod), ephemeralStorageBytes: storageLimit(pod, usual) },
    ...(spec.runtimeClassName === undefined ? {} : { runtimeClassName: spec.runtimeClassName }),
    egress: wantedEgress(pod),
  };
}

/** Names of pods may be longer than host names; what a cut leaves at the end must still be one. */
export function hostnameOf({ metadata, spec }: NodePod): string {
  return spec.hostnameOverride ?? spec.hostname ?? metadata.name.slice(0, maxHostname).replace(/[-.]+$/, "");
}

function storageLimit({ spec }: NodePod, usual: UsualLimits): number {
  const limits = spec.containers.map(({ resources }) => resources?.limits?.["ephemeral-storage"]);
  const bytes = limits.map((limit) => (limit === undefined ? usual.ephemeralStorageBytes : Math.floor(amount(limit))));
  return bytes.reduce((sum, one) => sum + one, 0);
}

const sharesPerCpu = 1024;
/** The kernel's smallest: for pods that ask for nothing, as on a cluster. */
const smallestShares = 2;

/** What the containers request; a limit without a request is one, as everywhere. */
function cpuShares({ spec }: NodePod): number {
  const cpus = spec.containers.map(({ resources }) => amount(resources?.requests?.["cpu"] ?? resources?.limits?.["cpu"] ?? 0));
  return Math.max(smallestShares, Math.round(cpus.reduce((sum, one) => sum + one, 0) * sharesPerCpu));
}

function amount(quantity: string | number): number {
  return Number(parseQuantity(quantity).nanos) / 1e9;
}
