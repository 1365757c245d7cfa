/** Counts running sandboxes per owner, updated with every change of a pod; never recounted. */
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { Labels, Metrics } from "#lib/metrics.ts";
import { isClaimed, poolOf, sandboxPhaseOf, userOf } from "#model/claimed-pod.ts";
import { labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";

type InfoLabel = "namespace" | "pool" | "team" | "user" | "sandbox_env";

interface Tally {
  count: number;
  readonly remove: () => void;
}

/** Returns what ends it. */
export function followRunning({ cache, metrics }: { readonly cache: Pick<SandboxCache, "pods">; readonly metrics: Metrics }): () => void {
  const gauge = metrics.gauge<InfoLabel>({
    name: "agentbox_sandbox_running_info",
    help: "Running sandboxes by pool and owner.",
    labels: ["namespace", "pool", "team", "user", "sandbox_env"],
  });
  const tallies = new Map<string, Tally>();
  const add = (pod: Pod | undefined, by: 1 | -1): void => {
    if (pod === undefined || !isRunning(pod)) return;
    const labels = labelsOf(pod);
    const key = JSON.stringify(labels);
    const tally = tallies.get(key) ?? open(labels);
    tallies.set(key, tally);
    tally.count += by;
    if (tally.count > 0) return;
    tally.remove();
    tallies.delete(key);
  };
  const open = (labels: Labels<InfoLabel>): Tally => {
    const tally: Tally = { count: 0, remove: gauge.follow(labels, () => tally.count) };
    return tally;
  };
  const registration = cache.pods.onChange((now, before) => {
    // The new one first: a sandbox that merely changes keeps its line.
    add(now, 1);
    add(before, -1);
  });
  return () => {
    registration.remove();
    for (const tally of tallies.values()) tally.remove();
    tallies.clear();
  };
}

function isRunning(pod: Pod): boolean {
  return isClaimed(pod) && sandboxPhaseOf(pod) === "running";
}

function labelsOf(pod: Pod): Labels<InfoLabel> {
  const { namespace = "", labels = {} } = pod.metadata;
  return {
    namespace,
    pool: poolOf(pod) ?? "",
    team: labels[labelKeys.team] ?? "",
    user: userOf(pod) ?? "",
    sandbox_env: labels[labelKeys.env] ?? "",
  };
}
