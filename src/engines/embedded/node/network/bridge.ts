/** The bridge of an instance, and with it the claim on a network and a block of user ids. */
import { readdirSync } from "node:fs";
import type { Logger } from "#lib/log.ts";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import type { Netlink } from "#engines/embedded/node/linux/netlink.ts";
import { bridgeName, gatewayAddress, macOf, namePrefix, roomFor } from "./address-plan.ts";
import { hostRoutes } from "./host-routes.ts";
import { answers, chooseSubnet, chooseUids, formatClaim, parseClaim, type RangeClaim } from "./range-claim.ts";
import { addressBytes, formatAddress, formatSubnet } from "#lib/subnet.ts";

export interface BridgeWish {
  readonly netlink: Netlink;
  readonly instance: string;
  /** CIDR; without one the first free of the usual networks. */
  readonly subnet?: string | undefined;
  readonly slots: number;
  readonly mtu: number;
  /** Sandboxes still hold addresses, so the network must stay what it is. */
  readonly inUse: boolean;
  readonly log: Logger;
}

/** Makes the bridge if it is not there. The caller holds the machine's lock: choosing and claiming must be one step. */
export async function ensureBridge(wish: BridgeWish): Promise<RangeClaim> {
  const { netlink, instance, mtu, inUse, log } = wish;
  const name = bridgeName(instance);
  const claims = readClaims();
  const mine = claims.get(name);
  if (mine !== undefined && answers(mine, wish)) return mine;
  if (mine !== undefined && inUse) {
    log.warn({ has: formatClaim(mine), subnet: wish.subnet, slots: wish.slots }, "sandboxes hold addresses, so the network stays as it is");
    return mine;
  }
  await netlink.deleteLink(name);
  claims.delete(name);
  const { subnet, passedOver } = chooseSubnet(wish.subnet, hostRoutes());
  if (passedOver.length > 0)
    log.warn({ subnet: formatSubnet(subnet), passedOver }, "another network for sandboxes, because the usual one is in use");
  const slots = Math.min(wish.slots, roomFor(subnet));
  const claim: RangeClaim = { subnet, slots, firstUid: chooseUids(slots, [...claims.values()]) };
  const gateway = gatewayAddress({ instance, subnet, slots });
  await netlink.createBridge({ name, mac: macOf(gateway), mtu });
  const index = (await netlink.findLink(name)) ?? 0;
  await netlink.addAddress(index, addressBytes(gateway), subnet.prefixLength);
  await netlink.setAlias(index, formatClaim(claim));
  log.info({ bridge: name, address: formatAddress(gateway), subnet: formatSubnet(subnet), slots }, "network for sandboxes made");
  return claim;
}

function readClaims(): Map<string, RangeClaim> {
  const claims = new Map<string, RangeClaim>();
  for (const name of readdirSync("/sys/class/net")) {
    if (!name.startsWith(namePrefix) || name.includes("-")) continue;
    const claim = parseClaim(readIfPresent(`/sys/class/net/${name}/ifalias`) ?? "");
    if (claim !== undefined) claims.set(name, claim);
  }
  return claims;
}
