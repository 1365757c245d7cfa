/** Which IP addresses belong to the public Internet. One decision for every request that a tenant's input causes. */
import { isIPv4, isIPv6 } from "node:net";
import { contains, parseSubnet, type Subnet } from "./subnet.ts";

/**
 * IPv4 networks that are not public: private, shared (CGNAT), loopback, link-local (metadata services), documentation, tests, multicast,
 * reserved. Neither the control plane nor a sandbox reaches them unless an admin opens them.
 */
export const closedIpv4: readonly Subnet[] = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
  // Azure's host: metadata and agent of a virtual machine, behind an address that looks public.
  "168.63.129.16/32",
].map(parseSubnet);

/**
 * False for text that is not an IP address in its usual form. IPv6 addresses are public inside 2000::/3 only; an address that carries an
 * IPv4 address (IPv4-mapped, or the well-known prefix of NAT64) is judged by that one.
 */
export function isPublicAddress(text: string): boolean {
  if (isIPv4(text)) return isPublicIpv4(text);
  // With a zone the address belongs to one link.
  if (!isIPv6(text) || text.includes("%")) return false;
  const groups = ipv6Groups(text);
  if (startsWith(groups, ipv4Mapped) || startsWith(groups, nat64)) return isPublicIpv4(ipv4In(groups));
  return isPublicIpv6(groups);
}

function isPublicIpv4(text: string): boolean {
  const address = parseSubnet(text);
  return !closedIpv4.some((network) => contains(network, address));
}

const ipv4Mapped = [0, 0, 0, 0, 0, 0xffff];
const nat64 = [0x64, 0xff9b, 0, 0, 0, 0];

function isPublicIpv6([first = 0, second = 0]: readonly number[]): boolean {
  if (first >> 13 !== 1) return false;
  // Protocol assignments, Teredo among them (2001::/23), and documentation (2001:db8::/32).
  if (first === 0x2001) return second >= 0x200 && second !== 0xdb8;
  // 6to4 wraps an IPv4 address; 3fff::/20 is for documentation.
  return first !== 0x2002 && !(first === 0x3fff && second < 0x1000);
}

function startsWith(groups: readonly number[], prefix: readonly number[]): boolean {
  return prefix.every((group, index) => groups[index] === group);
}

/** The last two groups, as IPv4 is written. */
function ipv4In(groups: readonly number[]): string {
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join(".");
}

/** The eight groups of a valid address. */
function ipv6Groups(text: string): number[] {
  const [head = "", tail] = text.split("::");
  const [left, right] = [groupsOf(head), groupsOf(tail ?? "")];
  return [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right];
}

function groupsOf(part: string): number[] {
  if (part === "") return [];
  return part.split(":").flatMap((group) => {
    if (!group.includes(".")) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split(".").map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}
