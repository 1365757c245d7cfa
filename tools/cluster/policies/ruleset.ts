/**
 * Isolations as text for nft: one table, loaded whole in one transaction that replaces what was there.
 *
 * Packets between pods pass these rules although they stay on one bridge, because the bridge is set to show them (network.ts).
 * They pass after the translation of services and before that of sources, so addresses are those of the pods themselves.
 * A refused connection is answered at once. For TCP the answer is a reset, because the kernel sends only a few ICMP answers in a second.
 * A connection to a service gets an ICMP answer: on a bridge a reset skips the translation, so it would come from an address that the
 * client never called.
 */
import { contains, formatSubnet, parseSubnet, type Subnet, withoutContained } from "#lib/subnet.ts";
import { bridge, policyTable } from "../layout.ts";
import type { Allowance, Block, Endpoint, Isolation, Isolations, PortRange } from "./isolate.ts";
import type { Protocol } from "./network-policy.ts";

export function renderPolicies({ Ingress: ingress, Egress: egress }: Isolations): string {
  return `table ${policyTable}
delete table ${policyTable}
table ${policyTable} {
  map from_pods { type ipv4_addr : verdict; ${elements(egress, "egress")} }
  map to_pods { type ipv4_addr : verdict; ${elements(ingress, "ingress")} }
  chain forwarded {
    type filter hook forward priority filter; policy accept;
    iifname "${bridge}" meta nfproto ipv6 drop comment "pods have IPv4 alone, and by that they are known"
    ct state established,related accept
    ip saddr vmap @from_pods
    ip daddr vmap @to_pods
  }
  chain to_node {
    type filter hook input priority filter; policy accept;
    iifname "${bridge}" meta nfproto ipv6 drop
    ct state established,related accept
    ip saddr vmap @from_pods
  }
${egress.map((isolation, index) => chain(`egress_${index}`, isolation, "daddr")).join("")}${ingress
    .map((isolation, index) => chain(`ingress_${index}`, isolation, "saddr"))
    .join("")}  chain refuse {
    ct status dnat reject with icmpx admin-prohibited
    meta l4proto tcp reject with tcp reset
    reject with icmpx admin-prohibited
  }
}
`;
}

function elements(isolations: readonly Isolation[], prefix: string): string {
  const list = isolations.flatMap(({ addresses }, index) => addresses.map((address) => `${address} : jump ${prefix}_${index}`));
  return list.length === 0 ? "" : `elements = { ${list.join(", ")} }`;
}

/** Allowed packets return to the calling chain, which checks the other side of the connection. */
function chain(name: string, { policies, allowed }: Isolation, peer: "saddr" | "daddr"): string {
  const rules = allowed.flatMap((allowance) => matches(allowance, peer)).map((match) => `    ${match}return\n`);
  return `  # ${policies.join(" ")}\n  chain ${name} {\n${rules.join("")}    goto refuse\n  }\n`;
}

/** One per combination of a kind of peer and a kind of port. */
function matches({ peers, ports }: Allowance, side: "saddr" | "daddr"): readonly string[] {
  const addresses =
    peers === undefined ? [""] : [...addressMatch(peers.addresses, side), ...peers.blocks.flatMap((block) => blockMatch(block, side))];
  const where = ports === undefined ? [""] : [...rangeMatches(ports.ranges), ...endpointMatches(ports.endpoints)];
  return addresses.flatMap((peer) => where.map((port) => `${peer}${port}`));
}

function addressMatch(addresses: readonly string[], side: string): readonly string[] {
  return addresses.length === 0 ? [] : [`ip ${side} { ${addresses.join(", ")} } `];
}

function blockMatch({ cidr, except }: Block, side: string): readonly string[] {
  // No pod has an IPv6 address.
  if (cidr.includes(":")) return [];
  const outer = parseSubnet(cidr);
  const inside = withoutContained(except.map(parseSubnet));
  if (inside.some((subnet) => contains(subnet, outer))) return [];
  const but = inside.length === 0 ? "" : `ip ${side} != { ${inside.map(formatSubnet).join(", ")} } `;
  return [`${networkMatch(outer, side)}${but}`];
}

/** nft knows no network that holds every address. */
function networkMatch(subnet: Subnet, side: string): string {
  return subnet.prefixLength === 0 ? "meta nfproto ipv4 " : `ip ${side} ${formatSubnet(subnet)} `;
}

const protocols: readonly Protocol[] = ["TCP", "UDP", "SCTP"];

function rangeMatches(ranges: readonly PortRange[]): readonly string[] {
  return protocols.flatMap((protocol) => {
    const merged = mergeRanges(ranges.filter((range) => range.protocol === protocol));
    if (merged.length === 0) return [];
    const list = merged.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`));
    return [`${protocol.toLowerCase()} dport { ${list.join(", ")} } `];
  });
}

/** nft refuses intervals that overlap. */
function mergeRanges(ranges: readonly PortRange[]): readonly PortRange[] {
  const merged: PortRange[] = [];
  for (const range of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last === undefined || range.from > last.to) merged.push(range);
    else merged[merged.length - 1] = { ...last, to: Math.max(last.to, range.to) };
  }
  return merged;
}

function endpointMatches(endpoints: readonly Endpoint[]): readonly string[] {
  return protocols.flatMap((protocol) => {
    const list = new Set(endpoints.filter((each) => each.protocol === protocol).map(({ address, port }) => `${address} . ${port}`));
    return list.size === 0 ? [] : [`ip daddr . ${protocol.toLowerCase()} dport { ${[...list].join(", ")} } `];
  });
}
