/** Whether a pod that has no node may come to this one. With one node there is nothing to choose, only to refuse. */
import type { NodeSelectorRequirement, NodeSelectorTerm } from "#model/kubernetes.generated.ts";
import type { NodePod } from "../node-pod.ts";

export type NodeLabels = Readonly<Record<string, string>>;

export type Placement =
  | { readonly kind: "here" }
  /** The owner of its scheduling gates must remove them first. */
  | { readonly kind: "gated" }
  | { readonly kind: "nowhere"; readonly message: string };

export function placementOf(pod: NodePod, labels: NodeLabels): Placement {
  const { metadata, spec } = pod;
  // A pod that is going away without ever having had a node needs none.
  if ((spec.schedulingGates ?? []).length > 0 || metadata.deletionTimestamp !== undefined) return { kind: "gated" };
  if (!isSelected(pod, labels)) return nowhere("1 node(s) didn't match Pod's node affinity/selector");
  if (dependsOnOthers(pod)) return nowhere("1 node(s) cannot honour rules about other pods (affinity, spread): this is the only node");
  return { kind: "here" };
}

function isSelected({ spec: { nodeSelector = {}, affinity } }: NodePod, labels: NodeLabels): boolean {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const matchesSelector = Object.entries(nodeSelector).every(([key, value]) => labels[key] === value);
  return matchesSelector && (terms === undefined || terms.some((term) => matchesTerm(term, labels)));
}

function dependsOnOthers({ spec: { affinity, topologySpreadConstraints = [] } }: NodePod): boolean {
  const rules = [affinity?.podAffinity, affinity?.podAntiAffinity];
  const hasRule = rules.some((one) => (one?.requiredDuringSchedulingIgnoredDuringExecution ?? []).length > 0);
  return hasRule || topologySpreadConstraints.some(({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule");
}

function nowhere(why: string): Placement {
  return { kind: "nowhere", message: `0/1 nodes are available: ${why}.` };
}

/** A term that asks for nothing matches nothing. */
function matchesTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, labels: NodeLabels): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  const fields = { "metadata.name": labels["kubernetes.io/hostname"] ?? "" };
  return matchExpressions.every((one) => matches(one, labels)) && matchFields.every((one) => matches(one, fields));
}

function matches({ key, operator, values = [] }: NodeSelectorRequirement, labels: NodeLabels): boolean {
  const value = labels[key];
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return Number(value) > Number(values[0]);
    case "Lt":
      return Number(value) < Number(values[0]);
    default:
      return false;
  }
}
