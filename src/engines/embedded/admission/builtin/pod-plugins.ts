/** What the default admission plugins of an API server add to pods: tolerations for lost nodes, and priorities. */
import { ApiError } from "#kube/api-error.ts";
import { withProperties } from "../json.ts";
import type { StoredPod, StoredPodSpec } from "#engines/embedded/stored-pod.ts";
import type { Toleration } from "#model/kubernetes.generated.ts";

const nodeTroubles = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/** How long a pod stays bound to a node that has gone silent: five minutes, unless it says otherwise. */
export function addNodeTolerations(spec: StoredPodSpec): StoredPodSpec {
  const given = spec.tolerations ?? [];
  const added = nodeTroubles
    .filter((key) => !given.some((toleration) => covers(toleration, key)))
    .map((key) => ({ key, operator: "Exists" as const, effect: "NoExecute" as const, tolerationSeconds: 300 }));
  return added.length === 0 ? spec : withProperties(spec, { tolerations: [...given, ...added] });
}

function covers({ key, effect }: Toleration, trouble: string): boolean {
  return (key === undefined || key === trouble) && (effect === undefined || effect === "NoExecute");
}

const systemPriorities: Readonly<Record<string, number>> = {
  "system-cluster-critical": 2_000_000_000,
  "system-node-critical": 2_000_001_000,
};

/**
 * The number behind the pod's priority class. There is no kind PriorityClass here, so a class that only a cluster could have
 * counts as the default one instead of being refused: a template that names one must run on both engines.
 */
export function resolvePriority(pod: StoredPod): StoredPodSpec {
  const { spec, metadata } = pod;
  const priority = systemPriorities[spec.priorityClassName ?? ""] ?? 0;
  const preemptionPolicy = "PreemptLowerPriority";
  if (spec.priority !== undefined && spec.priority !== priority) {
    throw forbidden(metadata.name, `the integer value of priority (${spec.priority})`, `${priority}`);
  }
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy) {
    throw forbidden(metadata.name, `the string value of PreemptionPolicy (${spec.preemptionPolicy})`, preemptionPolicy);
  }
  return withProperties(spec, { priority, preemptionPolicy });
}

function forbidden(pod: string | undefined, given: string, computed: string): ApiError {
  return new ApiError(
    "Forbidden",
    `pods "${pod ?? ""}" is forbidden: ${given} must not be provided in pod spec; priority admission controller computed ${computed} from the given PriorityClass name`,
    { kind: "pods", name: pod ?? "" },
  );
}
