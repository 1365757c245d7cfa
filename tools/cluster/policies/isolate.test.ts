import { expect, test } from "vitest";
import type { Namespace } from "#model/core-kinds.ts";
import type { Pod } from "#model/pod.ts";
import { type ClusterView, isolate, type Isolations } from "./isolate.ts";
import type { NetworkPolicy, PolicyPeer } from "./network-policy.ts";

type Labels = Readonly<Record<string, string>>;

function aPod(address: string, labels: Labels = {}, more: Partial<Pod["metadata"]> & { status?: Pod["status"] } = {}): Pod {
  const { status, ...metadata } = more;
  const containers = [{ name: "main", ports: [{ name: "web", containerPort: Number(address.split(".")[3]) + 8000 }] }];
  return {
    metadata: { name: `pod-${address}`, namespace: "team", labels, ...metadata },
    spec: { containers },
    status: { phase: "Running", podIP: address, hostIP: "10.0.0.1", ...status },
  };
}

function aNamespace(name: string, labels: Labels = {}): Namespace {
  return { metadata: { name, labels: { "kubernetes.io/metadata.name": name, ...labels } } };
}

function aPolicy(spec: NetworkPolicy["spec"], name = "policy", namespace = "team"): NetworkPolicy {
  return { metadata: { name, namespace }, spec };
}

function judge(policies: readonly NetworkPolicy[], pods: readonly Pod[], namespaces: ClusterView["namespaces"] = []): Isolations {
  return isolate({ policies, pods, namespaces: [aNamespace("team"), ...namespaces] });
}

/** The addresses that an ingress rule with these peers lets in. */
function peersOf(peers: readonly PolicyPeer[], pods: readonly Pod[], namespaces: readonly Namespace[] = []): readonly string[] {
  const policy = aPolicy({ podSelector: { matchLabels: { app: "db" } }, ingress: [{ from: peers }] });
  const [isolation] = judge([policy], [aPod("10.0.0.9", { app: "db" }), ...pods], namespaces).Ingress;
  return isolation?.allowed[0]?.peers?.addresses ?? [];
}

test("a pod that no policy selects is open, whatever policies are there for others", () => {
  const elsewhere = aPolicy({ podSelector: {} }, "policy", "other");
  const forOthers = aPolicy({ podSelector: { matchLabels: { app: "db" } } });
  expect(judge([elsewhere, forOthers], [aPod("10.0.0.2", { app: "web" })])).toEqual({ Ingress: [], Egress: [] });
});

test("a policy without rules closes the directions that it names, and ingress when it names none", () => {
  const closed = [{ policies: ["team/policy"], addresses: ["10.0.0.2"], allowed: [] }];
  const pods = [aPod("10.0.0.2")];
  expect(judge([aPolicy({ podSelector: {} })], pods)).toEqual({ Ingress: closed, Egress: [] });
  expect(judge([aPolicy({ podSelector: {}, policyTypes: ["Egress"] })], pods)).toEqual({ Ingress: [], Egress: closed });
  expect(judge([aPolicy({ podSelector: {}, egress: [] })], pods)).toEqual({ Ingress: closed, Egress: closed });
});

test("several policies of a pod allow together, and pods with the same policies are one group", () => {
  const web = aPolicy({ podSelector: {}, ingress: [{ ports: [{ port: 80 }] }] }, "b");
  const dns = aPolicy({ podSelector: { matchLabels: { app: "dns" } }, ingress: [{ ports: [{ port: 53, protocol: "UDP" }] }] }, "a");
  const seen = judge([web, dns], [aPod("10.0.0.2", { app: "dns" }), aPod("10.0.0.3"), aPod("10.0.0.4")]).Ingress;
  expect(seen).toEqual([
    {
      policies: ["team/a", "team/b"],
      addresses: ["10.0.0.2"],
      allowed: [
        { ports: { ranges: [{ protocol: "UDP", from: 53, to: 53 }], endpoints: [] } },
        { ports: { ranges: [{ protocol: "TCP", from: 80, to: 80 }], endpoints: [] } },
      ],
    },
    {
      policies: ["team/b"],
      addresses: ["10.0.0.3", "10.0.0.4"],
      allowed: [{ ports: { ranges: [{ protocol: "TCP", from: 80, to: 80 }], endpoints: [] } }],
    },
  ]);
});

test("peers are of the policy's own namespace unless it selects namespaces; both selectors must fit", () => {
  const pods = [
    aPod("10.0.0.2", { app: "web" }),
    aPod("10.0.0.3", { app: "web" }, { namespace: "other" }),
    aPod("10.0.0.4", {}, { namespace: "other" }),
  ];
  const namespaces = [aNamespace("other", { tier: "front" })];
  const web = { matchLabels: { app: "web" } };
  const front = { matchLabels: { tier: "front" } };
  expect(peersOf([{ podSelector: web }], pods, namespaces)).toEqual(["10.0.0.2"]);
  expect(peersOf([{ namespaceSelector: front }], pods, namespaces)).toEqual(["10.0.0.3", "10.0.0.4"]);
  expect(peersOf([{ namespaceSelector: front, podSelector: web }], pods, namespaces)).toEqual(["10.0.0.3"]);
  expect(peersOf([{ namespaceSelector: {} }], pods, namespaces)).toEqual(["10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.9"]);
  expect(peersOf([{ namespaceSelector: front }, { podSelector: web }], pods, namespaces)).toEqual(["10.0.0.2", "10.0.0.3", "10.0.0.4"]);
});

test("selectors know all four operators", () => {
  const pods = [aPod("10.0.0.2", { app: "a" }), aPod("10.0.0.3", { app: "b" }), aPod("10.0.0.4")];
  const chosen = (operator: "In" | "NotIn" | "Exists" | "DoesNotExist", values?: readonly string[]): readonly string[] =>
    peersOf([{ podSelector: { matchExpressions: [{ key: "app", operator, ...(values && { values }) }] } }], pods);
  expect(chosen("In", ["a"])).toEqual(["10.0.0.2"]);
  expect(chosen("NotIn", ["a", "db"])).toEqual(["10.0.0.3", "10.0.0.4"]);
  expect(chosen("Exists")).toEqual(["10.0.0.2", "10.0.0.3", "10.0.0.9"]);
  expect(chosen("DoesNotExist")).toEqual(["10.0.0.4"]);
});

test("a rule whose peers nobody is allows nobody, not everybody", () => {
  const policy = aPolicy({ podSelector: {}, ingress: [{ from: [{ podSelector: { matchLabels: { app: "none" } } }] }] });
  expect(judge([policy], [aPod("10.0.0.2")]).Ingress[0]?.allowed).toEqual([{ peers: { addresses: [], blocks: [] } }]);
});

test("a named port is the number that each receiver gave it", () => {
  const named = [{ port: "web" }];
  const ingress = aPolicy({ podSelector: { matchLabels: { app: "db" } }, ingress: [{ ports: named }] });
  const egress = aPolicy({ podSelector: { matchLabels: { app: "db" } }, policyTypes: ["Egress"], egress: [{ ports: named }] }, "out");
  const seen = judge([ingress, egress], [aPod("10.0.0.2", { app: "db" }), aPod("10.0.0.3")]);
  const at = (number: number): object => ({ protocol: "TCP", address: `10.0.0.${number}`, port: 8000 + number });
  expect(seen.Ingress[0]?.allowed).toEqual([{ ports: { ranges: [], endpoints: [at(2)] } }]);
  expect(seen.Egress[0]?.allowed).toEqual([{ ports: { ranges: [], endpoints: [at(2), at(3)] } }]);
});

test("ports are ranges; one without a number is every port of its protocol", () => {
  const ports = [{ port: 80, endPort: 90 }, { protocol: "UDP" as const }];
  const [isolation] = judge([aPolicy({ podSelector: {}, ingress: [{ ports }] })], [aPod("10.0.0.2")]).Ingress;
  expect(isolation?.allowed[0]?.ports?.ranges).toEqual([
    { protocol: "TCP", from: 80, to: 90 },
    { protocol: "UDP", from: 0, to: 65_535 },
  ]);
});

test("pods without an address of their own, and pods that ended, are not there; an address is its newest pod's", () => {
  const gone = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  const pods = [
    aPod("10.0.0.1", {}, { name: "on-the-node" }),
    aPod("10.0.0.2", {}, { status: { phase: "Succeeded" } }),
    aPod("", {}, { name: "waiting" }),
    aPod("10.0.0.3", { app: "new" }, { name: "new" }),
    aPod("10.0.0.3", { app: "old" }, { name: "old", ...gone }),
  ];
  const of = (app: string): Isolations => judge([aPolicy({ podSelector: { matchLabels: { app } } })], pods);
  expect(judge([aPolicy({ podSelector: {} })], pods).Ingress[0]?.addresses).toEqual(["10.0.0.3"]);
  expect(of("new").Ingress).toHaveLength(1);
  expect(of("old").Ingress).toHaveLength(0);
});
