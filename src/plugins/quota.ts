/** The plugin `quota`: pools grow no further than the quotas of their team and user leave. */
import { labelKeys } from "#model/keys.ts";
import { type LimitTable, serverLimit, teamLimit } from "#model/limits.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { heldPods } from "./machine-use.ts";
import type { PodAmounts } from "./pod-amounts.ts";
import type { Plugin, Verdict } from "./plugin.ts";
import { boundText, quotaBounds } from "./quota-bounds.ts";

export interface QuotaDeps {
  readonly table: () => LimitTable;
  readonly poolsOfTeam: (team: string) => Iterable<SandboxPool>;
  /** What one of a pool's pods may use. */
  readonly amountsOf: (pool: SandboxPool) => PodAmounts;
}

export function quotaPlugin(deps: QuotaDeps): Plugin {
  const check = async (pool: SandboxPool): Promise<Verdict<SandboxPool>> => verdictOf(deps, pool);
  return { name: "quota", preCreatePool: check, preUpdatePool: check };
}

interface Bound {
  readonly pods: number;
  readonly text: string;
}

function verdictOf({ table, poolsOfTeam, amountsOf }: QuotaDeps, pool: SandboxPool): Verdict<SandboxPool> {
  const team = pool.metadata.labels?.[labelKeys.team] ?? "";
  const pools = team === "" ? [] : [...poolsOfTeam(team)];
  const others = pools.filter((other) => !isSame(other, pool));
  const present = pools.find((other) => isSame(other, pool))?.spec.replicas ?? 0;
  const wanted = pool.spec.replicas;
  // What is there already is not taken away when a limit is lowered.
  if (wanted <= present) return { object: pool };
  const quotas = quotaBounds(table(), pool, { others, amountsOf, podsOf: heldPods }).map((bound) => ({
    pods: bound.pods,
    text: boundText(bound),
  }));
  const tightest = [...numberBounds(table(), team, others), ...quotas].reduce((least, bound) => (bound.pods < least.pods ? bound : least));
  if (wanted <= tightest.pods) return { object: pool };
  const wouldFit = Math.max(present, tightest.pods);
  return { refusal: { kind: "InsufficientResources", message: tightest.text, wouldFit } };
}

/** Of pods, whatever their size. What all teams have together is kept by the pool controller, which sees all pools anyway. */
function numberBounds(table: LimitTable, team: string, others: readonly SandboxPool[]): readonly Bound[] {
  const server = serverLimit(table, "podsPerPool");
  const ofServer = { pods: server, text: textOf("the server", "--server", `podsPerPool=${server}`) };
  if (team === "") return [ofServer];
  const [each, all] = [teamLimit(table, team, "podsPerPool"), teamLimit(table, team, "pods")];
  const left = Math.max(0, all - others.reduce((sum, other) => sum + heldPods(other), 0));
  return [
    ofServer,
    { pods: each, text: textOf(`team ${team}`, `--team ${team}`, `podsPerPool=${each}`) },
    { pods: left, text: textOf(`team ${team}`, `--team ${team}`, `pods=${all}`) },
  ];
}

function textOf(owner: string, where: string, limit: string): string {
  const name = limit.split("=", 1)[0] ?? "";
  return `${owner} has the limit ${limit}. An admin can raise it: agentbox limits set ${where} ${name}=N`;
}

function isSame({ metadata: one }: SandboxPool, { metadata: other }: SandboxPool): boolean {
  return one.name === other.name && one.namespace === other.namespace;
}
