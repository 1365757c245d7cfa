/** Names of members that came without one: `{env}-{size of its pods}`, such as `py-2c4gi`. Pure. */
import type { EnvClusterMemberConfig } from "#model/env-member.ts";

export function derivedMemberName(env: string, config: EnvClusterMemberConfig, taken: ReadonlySet<string>): string {
  const name = `${env}-${shapeOf(config)}`;
  for (let number = 1; ; number++) {
    const numbered = number === 1 ? name : `${name}-${number}`;
    if (!taken.has(numbered)) return numbered;
  }
}

/** `small-x2` for an instance type, `2c4gi` or `500m-512mi` for resources, `default` where nothing is said. */
function shapeOf({ instanceType = "", multiplier = 1, inlineResources }: EnvClusterMemberConfig): string {
  if (instanceType !== "") return plain(multiplier > 1 ? `${instanceType}-x${multiplier}` : instanceType);
  const amounts = { ...inlineResources?.requests, ...inlineResources?.limits };
  return plain(`${cpuText(amounts["cpu"])}${amounts["memory"] ?? ""}`) || "default";
}

/** Whole cores are counted, parts of a core keep their unit. */
function cpuText(cpu: string | number | undefined): string {
  if (cpu === undefined) return "";
  return String(cpu).endsWith("m") ? `${cpu}-` : `${cpu}c`;
}

function plain(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
}
