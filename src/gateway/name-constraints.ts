/**
 * Limits what an authority may sign for: the extension NameConstraints (RFC 5280, 4.2.1.10) in DER. A machine that trusts our authority trusts it for one
 * domain only, even if its key is stolen. IP addresses are excluded as a whole, because a list of permitted names says nothing about them.
 */
import { X509Certificate } from "node:crypto";

export const nameConstraintsId = "2.5.29.30";
/** The same in DER. */
const idBytes = Buffer.from("0603551d1e", "hex");

const tag = { sequence: 0x30, permitted: 0xa0, excluded: 0xa1, dnsName: 0x82, ipAddress: 0x87 } as const;

/** Every address with every mask: IPv4, IPv6. */
const allAddresses = [Buffer.alloc(8), Buffer.alloc(32)];

/** Permits the domain and all names below it. */
export function nameConstraints(domain: string): Buffer {
  const permitted = element(tag.permitted, subtree(tag.dnsName, Buffer.from(domain, "latin1")));
  const excluded = element(tag.excluded, ...allAddresses.map((address) => subtree(tag.ipAddress, address)));
  return element(tag.sequence, permitted, excluded);
}

/** True if the authority may sign for this domain and nothing else. */
export function isConstrainedTo(authority: X509Certificate, domain: string): boolean {
  return authority.raw.includes(idBytes) && authority.raw.includes(nameConstraints(domain));
}

/** True if the authority has any limit. */
export function isConstrained(pem: string): boolean {
  return new X509Certificate(pem).raw.includes(idBytes);
}

function subtree(kind: number, name: Buffer): Buffer {
  return element(tag.sequence, element(kind, name));
}

function element(kind: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head = length < 0x80 ? [kind, length] : length < 0x100 ? [kind, 0x81, length] : [kind, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), content]);
}
