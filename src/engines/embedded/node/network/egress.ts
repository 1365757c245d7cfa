/** Where a sandbox may connect to, as elements of the sets that ruleset.ts asks. */
import type { EgressPolicy } from "#model/egress-policy.ts";
import { formatSubnet, parseSubnet, withoutContained } from "#lib/subnet.ts";

/** The sets that hold sandboxes' wishes: nothing but elements changes while sandboxes come and go. */
export const egressSets = ["offline", "allowed", "denied"] as const;
export type EgressSet = (typeof egressSets)[number];
export type EgressElements = Readonly<Record<EgressSet, readonly string[]>>;

/** A sandbox without a policy needs none. */
export const noEgress: EgressElements = { offline: [], allowed: [], denied: [] };

/** Elements for the sandbox at `ip`. What is allowed goes before what is denied; both say nothing about closed networks. */
export function egressElements(ip: string, policy: EgressPolicy | undefined): EgressElements {
  if (policy === undefined) return noEgress;
  const pairs = (networks: readonly string[]): string[] =>
    withoutContained(networks.map(parseSubnet)).map((subnet) => `${ip} . ${formatSubnet(subnet)}`);
  return { offline: policy.internet ? [] : [ip], allowed: pairs(policy.allow), denied: pairs(policy.deny) };
}

/** One transaction for nft that takes some elements out and puts others in; undefined if nothing changes. */
export function egressChange(table: string, before: EgressElements, after: EgressElements): string | undefined {
  const lines: string[] = [];
  for (const set of egressSets) {
    const gone = before[set].filter((element) => !after[set].includes(element));
    const added = after[set].filter((element) => !before[set].includes(element));
    if (gone.length > 0) lines.push(`delete element inet ${table} ${set} { ${gone.join(", ")} }`);
    if (added.length > 0) lines.push(`add element inet ${table} ${set} { ${added.join(", ")} }`);
  }
  return lines.length === 0 ? undefined : `${lines.join("\n")}\n`;
}
