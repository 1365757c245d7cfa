/**
 * What the policies of a cluster mean for its pods: which pods are isolated, and which connections they may still have. Pure.
 *
 * P1 A pod that no policy selects for a direction is open in that direction.
 * P2 A pod that policies select may do what at least one of them allows, and nothing else.
 * P3 A connection between two pods needs both: the egress of the one and the ingress of the other.
 * P4 Pods are known by their address. Those in the node's own network have none of their own: they are the node.
 */
import type { Namespace } from "#model/core-kinds.ts";
import { type LabelRequirement, matchesLabels } from "#model/label-selector.ts";
import type { LabelSelector } from "#model/meta.ts";
import type { Pod } from "#model/pod.ts";
import type { NetworkPolicy, PolicyPeer, PolicyPort, PolicyType, Protocol } from "./network-policy.ts";

export interface ClusterView {
  readonly policies: readonly NetworkPolicy[];
  readonly pods: readonly Pod[];
  readonly namespaces: readonly Namespace[];
}

/** Pods that the same policies select for one direction, and what these allow them. */
export interface Isolation {
  /** `namespace/name`, sorted. */
  readonly policies: readonly string[];
  readonly addresses: readonly string[];
  readonly allowed: readonly Allowance[];
}

/** Both must fit; what is left out fits everything. */
export interface Allowance {
  readonly peers?: { readonly addresses: readonly string[]; readonly blocks: readonly Block[] } | undefined;
  readonly ports?: { readonly ranges: readonly PortRange[]; readonly endpoints: readonly Endpoint[] } | undefined;
}

export interface Block {
  readonly cidr: string;
  readonly except: readonly string[];
}

export interface PortRange {
  readonly protocol: Protocol;
  readonly from: number;
  readonly to: number;
}

/** A named port is another number on every pod. */
export interface Endpoint {
  readonly protocol: Protocol;
  readonly address: string;
  readonly port: number;
}

export type Isolations = Readonly<Record<PolicyType, readonly Isolation[]>>;

export function isolate(view: ClusterView): Isolations {
  const scene: Scene = {
    pods: livingPods(view.pods),
    namespaces: new Map(view.namespaces.map(({ metadata }) => [metadata.name ?? "", metadata.labels ?? {}])),
  };
  return { Ingress: isolationsOf("Ingress", view.policies, scene), Egress: isolationsOf("Egress", view.policies, scene) };
}

type Labels = Readonly<Record<string, string>>;

interface KnownPod {
  readonly namespace: string;
  readonly labels: Labels;
  readonly address: string;
  readonly ports: readonly { readonly name?: string; readonly containerPort: number; readonly protocol?: Protocol }[];
}

interface Scene {
  readonly pods: readonly KnownPod[];
  readonly namespaces: ReadonlyMap<string, Labels>;
}

/** One per address: where a pod that goes and one that comes have the same, it is the other's by now. */
function livingPods(pods: readonly Pod[]): readonly KnownPod[] {
  const goingFirst = pods.toSorted((a, b) => rank(a) - rank(b));
  const byAddress = new Map(goingFirst.flatMap(knownPod).map((pod) => [pod.address, pod]));
  return [...byAddress.values()].toSorted((a, b) => (a.address < b.address ? -1 : 1));
}

function knownPod({ metadata: { namespace = "", labels = {} }, spec, status = {} }: Pod): readonly KnownPod[] {
  const { podIP: address = "", hostIP, phase } = status;
  if (address === "" || address === hostIP || phase === "Succeeded" || phase === "Failed") return [];
  return [{ namespace, labels, address, ports: spec.containers.flatMap(({ ports = [] }) => ports) }];
}

function rank({ metadata }: Pod): number {
  return metadata.deletionTimestamp === undefined ? 1 : 0;
}

function isolationsOf(type: PolicyType, policies: readonly NetworkPolicy[], scene: Scene): readonly Isolation[] {
  const effective = policies.filter((policy) => typesOf(policy).includes(type)).toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const groups = new Map<string, { readonly policies: readonly NetworkPolicy[]; readonly pods: KnownPod[] }>();
  for (const pod of scene.pods) {
    const selecting = effective.filter(
      ({ metadata, spec }) => metadata.namespace === pod.namespace && selects(spec.podSelector ?? {}, pod.labels),
    );
    if (selecting.length === 0) continue;
    const key = selecting.map(nameOf).join(" ");
    const group = groups.get(key) ?? { policies: selecting, pods: [] };
    group.pods.push(pod);
    groups.set(key, group);
  }
  return [...groups.values()].map((group) => ({
    policies: group.policies.map(nameOf),
    addresses: group.pods.map(({ address }) => address),
    allowed: group.policies.flatMap((policy) => allowancesOf(type, policy, scene, group.pods)),
  }));
}

function nameOf({ metadata }: NetworkPolicy): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function typesOf({ spec }: NetworkPolicy): readonly PolicyType[] {
  return spec.policyTypes ?? (spec.egress === undefined ? ["Ingress"] : ["Ingress", "Egress"]);
}

function allowancesOf(
  type: PolicyType,
  { metadata, spec }: NetworkPolicy,
  scene: Scene,
  selected: readonly KnownPod[],
): readonly Allowance[] {
  const rules =
    type === "Ingress"
      ? (spec.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
      : (spec.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }));
  // Ports are those of the pod that receives the connection.
  const receivers = type === "Ingress" ? selected : scene.pods;
  return rules.map(({ peers = [], ports = [] }) => ({
    peers: peers.length === 0 ? undefined : peersOf(peers, metadata.namespace ?? "", scene),
    ports: ports.length === 0 ? undefined : portsOf(ports, receivers),
  }));
}

function peersOf(peers: readonly PolicyPeer[], namespace: string, scene: Scene): Allowance["peers"] {
  const selectors = peers.filter(({ ipBlock }) => ipBlock === undefined);
  const addresses = scene.pods.filter((pod) => selectors.some((peer) => isPeer(peer, pod, namespace, scene))).map(({ address }) => address);
  const blocks = peers.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [{ cidr: ipBlock.cidr, except: ipBlock.except ?? [] }]));
  return { addresses, blocks };
}

/** Without a selector of namespaces a peer stands in the policy's own. */
function isPeer({ podSelector = {}, namespaceSelector }: PolicyPeer, pod: KnownPod, namespace: string, { namespaces }: Scene): boolean {
  const inNamespace =
    namespaceSelector === undefined ? pod.namespace === namespace : selects(namespaceSelector, namespaces.get(pod.namespace) ?? {});
  return inNamespace && selects(podSelector, pod.labels);
}

function portsOf(ports: readonly PolicyPort[], receivers: readonly KnownPod[]): Allowance["ports"] {
  const ranges: PortRange[] = [];
  const endpoints: Endpoint[] = [];
  for (const { protocol = "TCP", port, endPort } of ports) {
    if (typeof port === "string") endpoints.push(...namedPort(port, protocol, receivers));
    else ranges.push({ protocol, from: port ?? 0, to: endPort ?? port ?? 65_535 });
  }
  return { ranges, endpoints };
}

function namedPort(name: string, protocol: Protocol, receivers: readonly KnownPod[]): readonly Endpoint[] {
  return receivers.flatMap(({ address, ports }) =>
    ports
      .filter((port) => port.name === name && (port.protocol ?? "TCP") === protocol)
      .map(({ containerPort }) => ({ protocol, address, port: containerPort })),
  );
}

function selects({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: Labels): boolean {
  const requirements: readonly LabelRequirement[] = [
    ...Object.entries(matchLabels).map(([key, value]) => ({ key, operator: "In" as const, values: [value] })),
    ...matchExpressions.map(({ key, operator, values = [] }) =>
      operator === "In" || operator === "NotIn" ? { key, operator, values } : { key, operator },
    ),
  ];
  return matchesLabels(requirements, labels);
}
