/**
 * The network of an instance: a bridge with the machine at its first address, a port for each sandbox, a firewall.
 * Siblings: address-plan.ts (names and addresses), bridge.ts and range-claim.ts (which network and ids an instance has),
 * ruleset.ts, egress.ts and connection-shares.ts (the firewall), former-connections.ts (what it remembers), host-routes.ts, nameservers.ts.
 */
import { closeSync, openSync, readdirSync, writeFileSync } from "node:fs";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { forgetConnections } from "#engines/embedded/node/linux/connections.ts";
import { whileLocked } from "#engines/embedded/node/linux/file-lock.ts";
import { idsPerRange, insideNetwork } from "#engines/embedded/node/linux/namespaces.ts";
import { Netlink } from "#engines/embedded/node/linux/netlink.ts";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { hasCode } from "#lib/native/files.ts";
import { type AddressPlan, bridgeName, gatewayAddress, portPrefix, slotAddress, slotAddresses } from "./address-plan.ts";
import { ensureBridge } from "./bridge.ts";
import type { ConnectionShare } from "./connection-shares.ts";
import { type EgressElements, egressChange } from "./egress.ts";
import { FormerConnections } from "./former-connections.ts";
import { defaultRouteLinks, hostRoutes } from "./host-routes.ts";
import { machineNameservers } from "./nameservers.ts";
import { firstId, type RangeClaim } from "./range-claim.ts";
import { renderRemoval, renderRuleset, tableName } from "./ruleset.ts";
import { addressBytes } from "#lib/subnet.ts";

export interface NetworkOptions {
  readonly instance: string;
  /** CIDR; without one the first free of the usual networks. */
  readonly subnet?: string | undefined;
  readonly slots: number;
  /** Links to the outside; without them those with a default route. */
  readonly uplinks?: readonly string[] | undefined;
  readonly nameservers?: readonly string[] | undefined;
}

export interface NetworkDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

const machineLock = "/run/agentbox.lock";
const installNft = "apt-get install nftables";
const usualMtu = 1500;

export class SandboxNetwork {
  readonly claim: RangeClaim;
  readonly nameservers: readonly string[];
  readonly #addresses: AddressPlan;
  readonly #mtu: number;
  readonly #netlink: Netlink;
  readonly #bridge: number;
  readonly #former: FormerConnections;

  private constructor(options: {
    claim: RangeClaim;
    addresses: AddressPlan;
    nameservers: readonly string[];
    mtu: number;
    netlink: Netlink;
    bridge: number;
    deps: NetworkDeps;
  }) {
    this.claim = options.claim;
    this.nameservers = options.nameservers;
    this.#addresses = options.addresses;
    this.#mtu = options.mtu;
    this.#netlink = options.netlink;
    this.#bridge = options.bridge;
    this.#former = new FormerConnections({
      ...options.deps,
      hasPort: async (slot) => (await this.#netlink.findLink(slotAddresses(this.#addresses, slot).port)) !== undefined,
      forget: (slot) => forgetConnections(addressBytes(slotAddress(this.#addresses, slot))),
    });
  }

  /** Brings up what is missing. `inUse`: sandboxes still hold addresses, so the network must stay what it is. */
  static async open(options: NetworkOptions, inUse: boolean, deps: NetworkDeps): Promise<SandboxNetwork> {
    const uplinks = options.uplinks ?? defaultRouteLinks(hostRoutes());
    const mtu = Math.min(usualMtu, ...uplinks.map(mtuOf));
    const netlink = new Netlink();
    const claim = await whileLocked(machineLock, deps.clock, () => ensureBridge({ ...options, netlink, mtu, inUse, log: deps.log }));
    forwardBetween([bridgeName(options.instance), ...uplinks]);
    const bridge = await netlink.findLink(bridgeName(options.instance));
    if (bridge === undefined) throw new Error(`the bridge ${bridgeName(options.instance)} vanished while it was set up`);
    const addresses = { instance: options.instance, subnet: claim.subnet, slots: claim.slots };
    return new SandboxNetwork({ claim, addresses, nameservers: options.nameservers ?? machineNameservers(), mtu, netlink, bridge, deps });
  }

  /** Loads the firewall anew. Open connections go on. */
  async loadRules(egress: readonly EgressElements[], share: ConnectionShare): Promise<void> {
    await nft(renderRuleset({ addresses: this.#addresses, nameservers: this.nameservers, egress, share }));
  }

  async changeEgress(before: EgressElements, after: EgressElements): Promise<void> {
    const change = egressChange(tableName(this.#addresses.instance), before, after);
    if (change !== undefined) await nft(change);
  }

  addressOf(slot: number): string {
    return slotAddresses(this.#addresses, slot).ip;
  }

  /** To be called when a slot has been removed. */
  removed(slot: number): void {
    this.#former.forgetSoon(slot);
  }

  /** Removes the port of a slot now, instead of when the kernel gets to removing its network namespace. */
  async disconnect(slot: number): Promise<void> {
    await this.#netlink.deleteLink(slotAddresses(this.#addresses, slot).port);
  }

  /** Gives the network namespace in `file` its link and address. Fails with EEXIST while the slot's former port is still going away. */
  async connect(slot: number, file: string): Promise<void> {
    const { port, mac } = slotAddresses(this.#addresses, slot);
    const network = openSync(file, "r");
    try {
      await this.#netlink.createVeth({ name: port, bridge: this.#bridge, mtu: this.#mtu, peer: { name: "eth0", mac, network } });
    } finally {
      closeSync(network);
    }
    // Its former port is gone now, and its next user is not there yet.
    await Promise.all([this.#former.forgetNow(slot), this.#setUp(slot, port, file)]);
  }

  async #setUp(slot: number, port: string, file: string): Promise<void> {
    const index = await this.#netlink.findLink(port);
    if (index === undefined) throw new Error(`port ${port} vanished while it was set up`);
    await this.#netlink.isolatePort(index);
    insideNetwork(file, () => setInside(firstId(this.claim, slot)));
    await this.configure(slot, file);
  }

  /** Gives the link in a slot's network its address and its way out; may be repeated. */
  async configure(slot: number, file: string): Promise<void> {
    using inner = insideNetwork(file, () => new Netlink());
    const link = await inner.findLink("eth0");
    if (link === undefined) throw new Error(`no eth0 in the network of slot ${slot}`);
    await inner.linkUp(loopback);
    // An address without a network: a neighbour is refused by the machine at once, instead of not being found.
    await inner.addAddress(link, addressBytes(slotAddress(this.#addresses, slot)), 32);
    await inner.linkUp(link);
    await inner.addGateway(link, addressBytes(gatewayAddress(this.#addresses)));
  }

  async close(): Promise<void> {
    await this.#former.close();
    this.#netlink[Symbol.dispose]();
  }
}

const loopback = 1;

/** Removes bridge, ports and firewall of an instance. */
export async function removeNetwork(instance: string): Promise<void> {
  using netlink = new Netlink();
  for (const name of readdirSync("/sys/class/net")) {
    if (name.startsWith(portPrefix(instance))) await netlink.deleteLink(name);
  }
  await netlink.deleteLink(bridgeName(instance));
  await nft(renderRemoval(instance));
}

/** Packets pass between these links only; the machine does not become a router for its other networks. */
function forwardBetween(links: readonly string[]): void {
  for (const link of links) writeFileSync(`/proc/sys/net/ipv4/conf/${link}/forwarding`, "1");
}

/** Settings of a sandbox's own network: all its users may bind ports below 1024 and send pings; IPv6 only on its loopback. */
function setInside(first: number): void {
  writeFileSync("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
  writeFileSync("/proc/sys/net/ipv4/ping_group_range", `${first} ${first + idsPerRange - 1}`);
  try {
    writeFileSync("/proc/sys/net/ipv6/conf/eth0/disable_ipv6", "1");
  } catch (error) {
    // A machine without IPv6 has nothing to switch off.
    if (!hasCode(error, "ENOENT")) throw error;
  }
}

function mtuOf(link: string): number {
  return Number(readIfPresent(`/sys/class/net/${link}/mtu`)) || usualMtu;
}

async function nft(input: string): Promise<void> {
  await runCommand(["nft", "-f", "-"], { input, install: installNft });
}
