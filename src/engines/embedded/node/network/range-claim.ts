/**
 * Several instances may share a machine. Each takes a network and a block of user ids that no other has, and writes both
 * as the alias of its bridge. The claim lasts exactly as long as the bridge, and every instance can read it.
 */
import { idsPerRange } from "#engines/embedded/node/linux/namespaces.ts";
import type { HostRoute } from "./host-routes.ts";
import { contains, formatSubnet, overlap, parseSubnet, type Subnet } from "#lib/subnet.ts";

export interface RangeClaim {
  readonly subnet: Subnet;
  readonly slots: number;
  /** First user id of slot 0; each slot has 65536 of them. */
  readonly firstUid: number;
}

/** The user id outside that is root in a slot. */
export function firstId(claim: RangeClaim, slot: number): number {
  return claim.firstUid + slot * idsPerRange;
}

/** Above the ids that distributions give to people, services, containers and subordinate users. */
const lowestUid = 0x7000_0000;
/** The last range contains the id -1, which chown reads as "do not change", so it stays free. */
const highestUid = 0xffff_0000;

/** Tried in this order when no network is configured: these are rarely in use, and easy to recognise in a trace. */
const usualSubnets = Array.from({ length: 20 }, (_, step) => `10.${231 + step}.0.0/16`);

export function formatClaim({ subnet, slots, firstUid }: RangeClaim): string {
  return `agentbox subnet=${formatSubnet(subnet)} slots=${slots} uids=${firstUid}`;
}

/** The claim in a link's alias; undefined if it holds none. */
export function parseClaim(alias: string): RangeClaim | undefined {
  const [, subnet, slots, firstUid] = /^agentbox subnet=(\S+) slots=(\d+) uids=(\d+)\s*$/.exec(alias) ?? [];
  if (subnet === undefined || slots === undefined || firstUid === undefined) return undefined;
  return { subnet: parseSubnet(subnet), slots: Number(slots), firstUid: Number(firstUid) };
}

/** The first block of ids that overlaps no other instance's. */
export function chooseUids(slots: number, taken: readonly RangeClaim[]): number {
  let first = lowestUid;
  for (const claim of taken.toSorted((a, b) => a.firstUid - b.firstUid)) {
    if (first + slots * idsPerRange <= claim.firstUid) break;
    first = Math.max(first, claim.firstUid + claim.slots * idsPerRange);
  }
  if (first + slots * idsPerRange <= highestUid) return first;
  throw new Error(
    `no ${slots} ranges of user ids are left on this machine: other instances hold them; ask for fewer slots or erase an instance`,
  );
}

export type SubnetChoice = { readonly subnet: Subnet; readonly passedOver: readonly string[] };

/** The wanted network, or the first usual one that no route of the machine leads into. */
export function chooseSubnet(wanted: string | undefined, routes: readonly HostRoute[]): SubnetChoice {
  const candidates = wanted === undefined ? usualSubnets : [wanted];
  const passedOver: string[] = [];
  for (const text of candidates) {
    const subnet = parseSubnet(text);
    const colliding = routes.find(({ destination }) => destination.prefixLength > 0 && overlap(destination, subnet));
    if (colliding === undefined) return { subnet, passedOver };
    passedOver.push(`${text} (the route to ${formatSubnet(colliding.destination)} by ${colliding.link})`);
  }
  throw new Error(`no network is free for sandboxes: ${passedOver.join(", ")}; set one that this machine has no route into`);
}

/** True if a claim fits the wanted settings. */
export function answers(claim: RangeClaim, wanted: { readonly subnet?: string | undefined; readonly slots: number }): boolean {
  if (claim.slots !== wanted.slots) return false;
  if (wanted.subnet === undefined) return true;
  const subnet = parseSubnet(wanted.subnet);
  return contains(claim.subnet, subnet) && contains(subnet, claim.subnet);
}
