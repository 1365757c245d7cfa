import { age } from "../print/human-duration.ts";
import type { Pod } from "#model/pod.ts";
import type { Column } from "./columns.ts";
import { podSummary } from "./pod-summary.ts";

const none = "<none>";

export const podColumns: readonly Column<Pod>[] = [
  { name: "Name", cell: (pod) => pod.metadata.name },
  { name: "Ready", cell: (pod) => readyText(pod) },
  { name: "Status", cell: (pod) => podSummary(pod).reason },
  { name: "Restarts", cell: (pod, now) => restartsText(pod, now) },
  { name: "Age", cell: (pod, now) => age(pod.metadata.creationTimestamp, now) },
  { name: "IP", wide: true, cell: (pod) => firstAddress(pod) },
  { name: "Node", wide: true, cell: (pod) => pod.spec.nodeName ?? none },
  { name: "Nominated Node", wide: true, cell: (pod) => textOf(pod.status?.nominatedNodeName) },
  { name: "Readiness Gates", wide: true, cell: (pod) => gatesText(pod) },
];

function readyText(pod: Pod): string {
  const { ready, total } = podSummary(pod);
  return `${ready}/${total}`;
}

function restartsText(pod: Pod, now: number): string {
  const { restarts, lastRestart } = podSummary(pod);
  return restarts === 0 || lastRestart === undefined ? String(restarts) : `${restarts} (${age(lastRestart, now)} ago)`;
}

function firstAddress(pod: Pod): string {
  return pod.status?.podIPs?.[0]?.ip ?? none;
}

function gatesText(pod: Pod): string {
  const gates = pod.spec.readinessGates ?? [];
  if (gates.length === 0) return none;
  const open = gates.filter((gate) => pod.status?.conditions?.find(({ type }) => type === gate.conditionType)?.status === "True");
  return `${open.length}/${gates.length}`;
}

function textOf(value: unknown): string {
  return typeof value === "string" && value !== "" ? value : none;
}
