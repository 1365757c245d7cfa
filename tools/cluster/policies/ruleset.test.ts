import { expect, test } from "vitest";
import type { Allowance, Isolations } from "./isolate.ts";
import { renderPolicies } from "./ruleset.ts";

/** The rules of the one chain that comes of these allowances. */
function rulesFor(allowed: readonly Allowance[], type: "Ingress" | "Egress" = "Egress"): readonly string[] {
  const isolation = { policies: ["team/policy"], addresses: ["10.0.0.2"], allowed };
  const isolations: Isolations = { Ingress: [], Egress: [], [type]: [isolation] };
  const [, body = ""] = /chain (?:in|e)gress_0 \{\n(.*?)\n {2}\}/s.exec(renderPolicies(isolations)) ?? [];
  return body.split("\n").map((line) => line.trim());
}

function block(cidr: string, ...except: string[]): Allowance {
  return { peers: { addresses: [], blocks: [{ cidr, except }] } };
}

test("without policies nobody is looked up and nothing of IPv4 is refused", () => {
  const text = renderPolicies({ Ingress: [], Egress: [] });
  expect(text).toContain("map from_pods { type ipv4_addr : verdict;  }");
  expect(text).not.toMatch(/goto|jump|elements/);
  expect(text.match(/drop/g)).toHaveLength(2);
  expect(text.match(/nfproto ipv6 drop/g)).toHaveLength(2);
});

test("the table is replaced whole", () => {
  const [first, second, third] = renderPolicies({ Ingress: [], Egress: [] }).split("\n");
  expect([first, second, third]).toEqual([
    "table inet agentbox-k8s-policies",
    "delete table inet agentbox-k8s-policies",
    "table inet agentbox-k8s-policies {",
  ]);
});

test("pods are led to the chain of their policies by their address, one way for each direction", () => {
  const isolation = (addresses: readonly string[]) => ({ policies: ["team/policy"], addresses, allowed: [] });
  const text = renderPolicies({
    Ingress: [isolation(["10.0.0.2"])],
    Egress: [isolation(["10.0.0.3"]), isolation(["10.0.0.4", "10.0.0.5"])],
  });
  expect(text).toContain(
    "map from_pods { type ipv4_addr : verdict; elements = { 10.0.0.3 : jump egress_0, 10.0.0.4 : jump egress_1, 10.0.0.5 : jump egress_1 } }",
  );
  expect(text).toContain("map to_pods { type ipv4_addr : verdict; elements = { 10.0.0.2 : jump ingress_0 } }");
});

test("what nobody allows is refused", () => {
  expect(rulesFor([])).toEqual(["goto refuse"]);
  expect(rulesFor([{ peers: { addresses: [], blocks: [] } }])).toEqual(["goto refuse"]);
  expect(rulesFor([{ ports: { ranges: [], endpoints: [] } }])).toEqual(["goto refuse"]);
});

test("a rule without peers and ports allows everything", () => {
  expect(rulesFor([{}])).toEqual(["return", "goto refuse"]);
});

test("peers stand on the other side of the connection, ports always with the receiver", () => {
  const allowed = [
    {
      peers: { addresses: ["10.0.0.7", "10.0.0.8"], blocks: [] },
      ports: { ranges: [{ protocol: "TCP", from: 80, to: 80 }], endpoints: [] },
    },
  ] as const;
  expect(rulesFor(allowed, "Egress")[0]).toBe("ip daddr { 10.0.0.7, 10.0.0.8 } tcp dport { 80 } return");
  expect(rulesFor(allowed, "Ingress")[0]).toBe("ip saddr { 10.0.0.7, 10.0.0.8 } tcp dport { 80 } return");
});

test("networks have holes, of which none lies in another; a hole as large as the network leaves nothing", () => {
  expect(rulesFor([block("0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "192.168.0.0/16")])[0]).toBe(
    "meta nfproto ipv4 ip daddr != { 10.0.0.0/8, 192.168.0.0/16 } return",
  );
  expect(rulesFor([block("10.1.0.0/16")])[0]).toBe("ip daddr 10.1.0.0/16 return");
  expect(rulesFor([block("10.1.0.0/16", "10.0.0.0/8")])).toEqual(["goto refuse"]);
  expect(rulesFor([block("::/0")])).toEqual(["goto refuse"]);
});

test("ports are told by protocol, and ranges that overlap are one", () => {
  const ranges = [
    { protocol: "TCP", from: 85, to: 100 },
    { protocol: "TCP", from: 80, to: 90 },
    { protocol: "TCP", from: 443, to: 443 },
    { protocol: "UDP", from: 53, to: 53 },
  ] as const;
  const endpoints = [{ protocol: "TCP", address: "10.0.0.2", port: 8080 }] as const;
  expect(rulesFor([{ ports: { ranges, endpoints } }])).toEqual([
    "tcp dport { 80-100, 443 } return",
    "udp dport { 53 } return",
    "ip daddr . tcp dport { 10.0.0.2 . 8080 } return",
    "goto refuse",
  ]);
});
