/** IPv4 networks in CIDR form, as numbers. */

export interface Subnet {
  /** First address. */
  readonly base: number;
  readonly prefixLength: number;
}

/** Reads `10.231.0.0/16`, or an address alone as a network of one. */
export function parseSubnet(text: string): Subnet {
  const [address = "", length = "32", ...rest] = text.split("/");
  const prefixLength = /^\d{1,2}$/.test(length) ? Number(length) : Number.NaN;
  const value = parseAddress(address);
  if (value === undefined || rest.length > 0 || !(prefixLength >= 0 && prefixLength <= 32)) {
    throw new Error(`${JSON.stringify(text)} is no IPv4 network; it would look like 10.231.0.0/16`);
  }
  return { base: (value & maskOf(prefixLength)) >>> 0, prefixLength };
}

export function parseAddress(text: string): number | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255)) return undefined;
  return parts.reduce((sum, part) => sum * 256 + Number(part), 0);
}

function maskOf(prefixLength: number): number {
  return prefixLength === 0 ? 0 : (-1 << (32 - prefixLength)) >>> 0;
}

export function formatAddress(address: number): string {
  return [...addressBytes(address)].join(".");
}

export function formatSubnet({ base, prefixLength }: Subnet): string {
  return `${formatAddress(base)}/${prefixLength}`;
}

export function addressBytes(address: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(address);
  return bytes;
}

/** How many addresses a network has, first and last included. */
export function subnetSize({ prefixLength }: Subnet): number {
  return 2 ** (32 - prefixLength);
}

export function contains(outer: Subnet, inner: Subnet): boolean {
  return outer.prefixLength <= inner.prefixLength && (inner.base & maskOf(outer.prefixLength)) >>> 0 === outer.base;
}

export function overlap(a: Subnet, b: Subnet): boolean {
  return contains(a, b) || contains(b, a);
}

/** The same addresses in as few networks as the list allows: nftables refuses intervals that lie in each other. */
export function withoutContained(subnets: readonly Subnet[]): Subnet[] {
  const kept: Subnet[] = [];
  for (const subnet of subnets.toSorted((a, b) => a.prefixLength - b.prefixLength || a.base - b.base)) {
    if (!kept.some((outer) => contains(outer, subnet))) kept.push(subnet);
  }
  return kept;
}
