import { readFileSync } from "node:fs";
import type { Subnet } from "#lib/subnet.ts";

export interface HostRoute {
  readonly link: string;
  readonly destination: Subnet;
}

/** Reads `/proc/net/route`: the IPv4 routes of the main table. Numbers in it are hexadecimal, in the machine's byte order. */
export function parseRoutes(text: string): HostRoute[] {
  const routes: HostRoute[] = [];
  for (const line of text.trim().split("\n").slice(1)) {
    const fields = line.split(/\s+/);
    const [link, destination, mask] = [fields[0], fields[1], fields[7]];
    if (link === undefined || destination === undefined || mask === undefined) continue;
    const prefixLength = numberOfOnes(fromMachineOrder(mask));
    routes.push({ link, destination: { base: fromMachineOrder(destination), prefixLength } });
  }
  return routes;
}

function fromMachineOrder(hex: string): number {
  return Buffer.from(hex, "hex").readUInt32LE();
}

function numberOfOnes(mask: number): number {
  return mask.toString(2).replaceAll("0", "").length;
}

export function hostRoutes(): HostRoute[] {
  return parseRoutes(readFileSync("/proc/net/route", "utf8"));
}

/** Links by which the machine reaches everything that it has no nearer route to. */
export function defaultRouteLinks(routes: readonly HostRoute[]): string[] {
  return [...new Set(routes.filter(({ destination }) => destination.prefixLength === 0).map(({ link }) => link))];
}
