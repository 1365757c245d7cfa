/** What the runtime is told of a pod as a whole. */
import { parseQuantity } from "#engines/embedded/admission/quantity.ts";
import type { PodPlan } from "../../pod-runtime.ts";
import type { NodePod } from "../pod-fields.ts";

const maxHostname = 63;

export function podSlot(pod: NodePod, pidsLimit: number): PodPlan {
  const { metadata, spec } = pod;
  const ephemeralStorageBytes = storageLimit(pod);
  return {
    uid: metadata.uid,
    namespace: metadata.namespace,
    name: metadata.name,
    hostname: hostnameOf(pod),
    limits: { pids: pidsLimit, ...(ephemeralStorageBytes === undefined ? {} : { ephemeralStorageBytes }) },
    ...(spec.runtimeClassName === undefined ? {} : { runtimeClassName: spec.runtimeClassName }),
  };
}

/** Names of pods may be longer than host names; what a cut leaves at the end must still be one. */
export function hostnameOf({ metadata, spec }: NodePod): string {
  return spec.hostnameOverride ?? spec.hostname ?? metadata.name.slice(0, maxHostname).replace(/[-.]+$/, "");
}

/** A container without a limit leaves the pod without one. */
function storageLimit({ spec }: NodePod): number | undefined {
  const limits = spec.containers.map(({ resources }) => resources?.limits?.["ephemeral-storage"]);
  if (limits.some((limit) => limit === undefined)) return undefined;
  const bytes = limits.map((limit) => Number(parseQuantity(String(limit)).nanos / 1_000_000_000n));
  return bytes.reduce((sum, one) => sum + one, 0);
}
