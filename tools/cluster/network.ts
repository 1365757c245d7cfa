/** The cluster's bridge, which shows its packets to the firewall, and the rule by which pods reach the world under the machine's address. */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { namePrefix } from "#engines/embedded/node/network/address-plan.ts";
import { defaultRouteLinks, hostRoutes } from "#engines/embedded/node/network/host-routes.ts";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { formatSubnet, overlap, parseSubnet } from "#lib/subnet.ts";
import { bridge, nodeAddress, ownName, podSubnet, policyTable, proxyTables, serviceSubnet } from "./layout.ts";

const ownTable = `ip ${ownName}`;

/** Fails if other routes of the machine lead into our networks: their traffic would be lost, or ours. */
export function checkRoutes(): void {
  for (const text of [podSubnet, serviceSubnet]) {
    const taken = hostRoutes().find(
      ({ link, destination }) => link !== bridge && destination.prefixLength > 0 && overlap(destination, parseSubnet(text)),
    );
    if (taken === undefined) continue;
    throw new Error(`the cluster's network ${text} is in use: the route to ${formatSubnet(taken.destination)} by ${taken.link}`);
  }
}

/** What packets to pods may be as large as: the links that lead to the world say it. */
export function smallestMtu(): number {
  const sizes = defaultRouteLinks(hostRoutes()).map((link) => Number(readIfPresent(`/sys/class/net/${link}/mtu`) ?? 1500));
  return Math.min(1500, ...sizes);
}

/** Makes what is missing of it; may be called again. */
export async function ensureNetwork(): Promise<void> {
  if (!existsSync(`/sys/class/net/${bridge}`)) await ip("link", "add", bridge, "mtu", String(smallestMtu()), "type", "bridge");
  await ip("address", "replace", `${nodeAddress}/${parseSubnet(podSubnet).prefixLength}`, "dev", bridge);
  await showPacketsToFirewall();
  await ip("link", "set", bridge, "up");
  for (const setting of forwardedLinks()) writeFileSync(setting, "1");
  await nft(
    `${declareAnew(ownTable)}
table ${ownTable} {
  chain outwards {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${podSubnet} ip daddr != ${podSubnet} oifname != "${bridge}" masquerade
  }
}
`,
  );
}

/**
 * Policies between pods hold only if the firewall sees what stays on the bridge. This one is told to show it: the kernel's
 * setting for all bridges is not ours, and is taken back where it came with the module that we had to load.
 */
async function showPacketsToFirewall(): Promise<void> {
  if (!existsSync(settingsOfAllBridges)) {
    await runCommand(["modprobe", "br_netfilter"], { install: "apt-get install -y kmod" });
    for (const family of ["iptables", "ip6tables", "arptables"]) writeFileSync(`${settingsOfAllBridges}/bridge-nf-call-${family}`, "0");
  }
  await ip("link", "set", bridge, "type", "bridge", "nf_call_iptables", "1", "nf_call_ip6tables", "1");
}

const settingsOfAllBridges = "/proc/sys/net/bridge";

/** Packets pass between these links only; the machine does not become a router for its other networks. */
function forwardedLinks(): readonly string[] {
  return [bridge, ...defaultRouteLinks(hostRoutes())].map((link) => `/proc/sys/net/ipv4/conf/${link}/forwarding`);
}

/** Settings of the machine that the network changes, unless other links on the machine need them by now. */
export function networkSettings(): readonly string[] {
  const others = readdirSync("/sys/class/net").some((link) => link.startsWith(namePrefix));
  return others ? [] : forwardedLinks().filter((path) => !path.includes(`/${bridge}/`));
}

export async function removeNetwork(): Promise<void> {
  if (existsSync(`/sys/class/net/${bridge}`)) await ip("link", "delete", bridge);
  await nft([ownTable, policyTable, ...proxyTables].map(declareAnew).join("\n"));
}

/** Deleting what does not exist is an error for nft, declaring it twice is not. */
function declareAnew(table: string): string {
  return `table ${table}\ndelete table ${table}\n`;
}

async function ip(...args: readonly string[]): Promise<void> {
  await runCommand(["ip", ...args], { install: "apt-get install -y iproute2" });
}

async function nft(input: string): Promise<void> {
  await runCommand(["nft", "-f", "-"], { input, install: "apt-get install -y nftables" });
}
