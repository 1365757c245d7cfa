/**
 * The firewall of an instance as text for nft. It is loaded whole, in one transaction that replaces what was there; while
 * sandboxes come and go only elements of the egress sets change (egress.ts), and only for those that have a policy.
 *
 * N1 A sandbox sends from its own port, with its own MAC and IPv4 address, or its frames are dropped.
 * N2 A sandbox opens no connection to the machine, to another sandbox or to a closed network. IPv6 goes nowhere.
 * N3 Only root of the machine opens a connection to a sandbox: the gateway runs as root, and it is what checks tokens.
 * N4 A policy also holds for connections that are already open: every packet that leaves a sandbox is checked.
 * N5 A refused connection is refused at once: programs see an error instead of a timeout. So the sandbox's own rules come before the
 *    rules of another instance, which drop foreign packets without an answer.
 * N6 All sandboxes share the machine's one table of connections. A sandbox's share is limited: by the number of open connections, by
 *    the rate of new ones, and by the time for which closed ones are remembered (the kernel does not count those). The limits hold in
 *    both directions, because a sandbox may also receive too many connections. All shares together leave the machine its own part
 *    (connection-shares.ts).
 */
import { type AddressPlan, bridgeName, portPrefix, slotAddresses } from "./address-plan.ts";
import { type ConnectionShare, rememberedSeconds } from "./connection-shares.ts";
import { type EgressElements, type EgressSet, egressSets } from "./egress.ts";
import { closedIpv4 } from "#lib/public-address.ts";
import { formatSubnet, withoutContained } from "#lib/subnet.ts";

/** Longer than the two hours after which a silent connection is asked whether it is alive. */
const silentSeconds = 7440;

export interface RulesetPlan {
  readonly addresses: AddressPlan;
  /** Resolvers that sandboxes may ask even where they stand in a closed network. */
  readonly nameservers: readonly string[];
  /** What living sandboxes wish. */
  readonly egress: readonly EgressElements[];
  /** What each sandbox may take of the machine's table of connections. */
  readonly share: ConnectionShare;
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

/** Addresses of sandboxes with their counters, which the kernel fills. */
const countedSets = ["asks", "asks_often", "asked", "asked_often"];
const tooMany = ({ open }: ConnectionShare): string => `ct count over ${open}`;
const tooFast = ({ newPerSecond, newAtOnce }: ConnectionShare): string =>
  `limit rate over ${newPerSecond}/second burst ${newAtOnce} packets`;

function renderInetTable({ addresses, nameservers, egress, share }: RulesetPlan): string {
  const bridge = bridgeName(addresses.instance);
  const closed = withoutContained([...closedIpv4, addresses.subnet]).map(formatSubnet);
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
${renderCounters(addresses.slots, bridge, share)}
  chain to_machine {
    type filter hook input priority -10; policy accept;
    iifname "${bridge}" ct state established,related accept
    iifname "${bridge}" jump refuse
  }
${renderFromMachine(bridge, share)}
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

/** Counts what sandboxes open, after it was decided that they may. */
function renderCounters(slots: number, bridge: string, share: ConnectionShare): string {
  return `${countedSets.map((set) => `  set ${set} { type ipv4_addr; size ${slots}; flags dynamic; }`).join("\n")}
  ct timeout short {
    protocol tcp; l3proto ip
    policy = { established : ${silentSeconds}, time_wait : ${rememberedSeconds}, close : ${rememberedSeconds} }
  }
  chain remembered {
    type filter hook prerouting priority -150; policy accept;
    iifname "${bridge}" meta l4proto tcp ct timeout set "short"
  }
  chain counted {
    type filter hook forward priority -9; policy accept;
    iifname "${bridge}" ct state new add @asks_often { ip saddr ${tooFast(share)} } jump refuse
    iifname "${bridge}" ct state new add @asks { ip saddr ${tooMany(share)} } jump refuse
  }`;
}

function renderFromMachine(bridge: string, share: ConnectionShare): string {
  return `  chain from_machine {
    type filter hook output priority -10; policy accept;
    oifname "${bridge}" jump to_sandbox
  }
  chain to_sandbox {
    meta skuid != 0 jump refuse
    meta l4proto tcp ct timeout set "short"
    ct state new add @asked_often { ip daddr ${tooFast(share)} } jump refuse
    ct state new add @asked { ip daddr ${tooMany(share)} } jump refuse
  }`;
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
