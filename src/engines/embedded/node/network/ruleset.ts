/**
 * The firewall of an instance as text for nft. It is loaded whole, in one transaction that replaces what was there; while
 * sandboxes come and go only elements of the egress sets change (egress.ts), and only for those that have a policy.
 *
 * N1 A sandbox sends from its own port, with its own MAC and IPv4 address, or its frames are dropped.
 * N2 A sandbox opens no connection to the machine, to another sandbox or to a closed network. IPv6 goes nowhere.
 * N3 Nobody but the machine itself opens a connection to a sandbox.
 * N4 A policy holds for connections that are open already: what leaves a sandbox is judged packet by packet.
 * N5 What a sandbox is refused it is refused at once: programs see an error instead of a timeout. So its own rules come
 *    before the silence with which another instance meets strangers.
 */
import { type AddressPlan, bridgeName, portPrefix, slotAddresses } from "./address-plan.ts";
import { type EgressElements, type EgressSet, egressSets } from "./egress.ts";
import { formatSubnet, parseSubnet, withoutContained } from "#lib/subnet.ts";

/** Networks that are not the Internet: private, shared, link-local (metadata services), reserved, multicast. */
const closedNetworks = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
];

export interface RulesetPlan {
  readonly addresses: AddressPlan;
  /** Resolvers that sandboxes may ask even where they stand in a closed network. */
  readonly nameservers: readonly string[];
  /** What living sandboxes wish. */
  readonly egress: readonly EgressElements[];
}

export function renderRuleset(plan: RulesetPlan): string {
  return `${renderInetTable(plan)}\n${renderBridgeTable(plan.addresses)}`;
}

/** Names of the two tables of an instance. */
export function tableName(instance: string): string {
  return bridgeName(instance);
}

/** Text that removes an instance's tables, whether they are there or not. */
export function renderRemoval(instance: string): string {
  return ["inet", "bridge"].map((family) => `${declareAnew(`${family} ${tableName(instance)}`)}\n`).join("");
}

/** Deleting what does not exist is an error for nft, declaring it twice is not. */
function declareAnew(table: string): string {
  return `table ${table}\ndelete table ${table}`;
}

function renderInetTable({ addresses, nameservers, egress }: RulesetPlan): string {
  const bridge = bridgeName(addresses.instance);
  const closed = withoutContained([...closedNetworks.map(parseSubnet), addresses.subnet]).map(formatSubnet);
  const wishes = (set: EgressSet): string => elements(egress.flatMap((each) => each[set]));
  const type: Record<EgressSet, string> = {
    offline: "type ipv4_addr;",
    allowed: "type ipv4_addr . ipv4_addr; flags interval;",
    denied: "type ipv4_addr . ipv4_addr; flags interval;",
  };
  return `${declareAnew(`inet ${bridge}`)}
table inet ${bridge} {
  set closed { type ipv4_addr; flags interval; ${elements(closed)} }
  set nameservers { type ipv4_addr; ${elements(nameservers)} }
${egressSets.map((set) => `  set ${set} { ${type[set]} ${wishes(set)} }`).join("\n")}
  chain to_machine {
    type filter hook input priority -10; policy accept;
    iifname "${bridge}" ct state established,related accept
    iifname "${bridge}" jump refuse
  }
  chain outwards {
    type filter hook forward priority -11; policy accept;
    iifname "${bridge}" jump from_sandbox
  }
  chain inwards {
    type filter hook forward priority -10; policy accept;
    oifname "${bridge}" ct state established,related accept
    oifname "${bridge}" drop
  }
  chain from_sandbox {
    meta nfproto ipv6 jump refuse
    ip daddr @closed jump to_closed
    ip saddr . ip daddr @allowed accept
    ip saddr . ip daddr @denied jump refuse
    ip saddr @offline jump refuse
    accept
  }
  chain to_closed {
    ip daddr @nameservers meta l4proto { tcp, udp } th dport 53 return
    jump refuse
  }
  chain refuse {
    meta l4proto tcp reject with tcp reset
    reject with icmpx admin-prohibited
  }
  chain to_outside {
    type nat hook postrouting priority 100; policy accept;
    ip saddr ${formatSubnet(addresses.subnet)} oifname != "${bridge}" masquerade
  }
}
`;
}

/** Ports, MACs and addresses of all slots are known beforehand, so a new sandbox needs no change here. */
function renderBridgeTable(addresses: AddressPlan): string {
  const table = tableName(addresses.instance);
  const owners = Array.from({ length: addresses.slots }, (_, slot) => {
    const { port, mac, ip } = slotAddresses(addresses, slot);
    return `"${port}" . ${mac} . ${ip}`;
  });
  return `${declareAnew(`bridge ${table}`)}
table bridge ${table} {
  set owners { type ifname . ether_addr . ipv4_addr; ${elements(owners)} }
  chain from_port {
    type filter hook prerouting priority -300; policy accept;
    iifname "${portPrefix(addresses.instance)}*" jump guard
  }
  chain guard {
    iifname . ether saddr . ip saddr @owners accept
    ether type arp iifname . ether saddr . arp saddr ip != @owners drop
    ether type arp iifname . arp saddr ether . arp saddr ip @owners accept
    drop
  }
}
`;
}

function elements(list: readonly string[]): string {
  return list.length === 0 ? "" : `elements = { ${list.join(", ")} }`;
}
