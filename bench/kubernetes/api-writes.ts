/** Writes that the API server has received, by verb and resource, from its own metrics. */
import { join } from "node:path";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import type { ClusterDescription } from "../../tools/cluster/layout.ts";

export type Counts = ReadonlyMap<string, number>;

const writes: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE", "APPLY", "DELETECOLLECTION"]);

export async function writesSoFar({ bin, kubeconfig }: ClusterDescription): Promise<Counts> {
  const text = await runCommand([join(bin, "kubectl"), `--kubeconfig=${kubeconfig}`, "get", "--raw", "/metrics"]);
  const counts = new Map<string, number>();
  for (const [, labels = "", value = ""] of text.matchAll(/^apiserver_request_total\{(.*)\} (\S+)$/gm)) {
    const label = (name: string): string => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
    // What was refused or lost a race was not written, but it was asked: it counts.
    if (!writes.has(label("verb")) || label("dry_run") !== "") continue;
    const what = `${label("verb")} ${[label("resource"), label("subresource")].filter((part) => part !== "").join("/")}`;
    counts.set(what, (counts.get(what) ?? 0) + Number(value));
  }
  return counts;
}

/** Most first, for each of so many. */
export function perEach(before: Counts, after: Counts, each: number): readonly { readonly what: string; readonly share: number }[] {
  return [...after]
    .map(([what, count]) => ({ what, share: (count - (before.get(what) ?? 0)) / each }))
    .filter(({ share }) => share > 0)
    .toSorted((a, b) => b.share - a.share);
}
