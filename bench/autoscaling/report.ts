/** The measured numbers as tables, and whether the goals are met. */
import { families, ours } from "./compared.ts";
import { hullOf, idleAt, missesAt, type Point } from "./equal-cost.ts";
import type { NamedLoad } from "./made-loads.ts";
import type { Result } from "./measure.ts";

/** Fewer misses by less than this, in percent of the requests, or by less than a tenth, count as as many. */
const tolerance = { points: 0.1, share: 0.1 };

export function reportOf({ name, kind, pools }: Pick<NamedLoad, "name" | "kind" | "pools">, results: readonly Result[]): string {
  const requests = pools.reduce((sum, { arrivals }) => sum + arrivals.length, 0);
  return [
    `## ${name}`,
    `${requests} requests at ${pools.length} ${pools.length === 1 ? "pool" : "pools"}.`,
    ...settingsTable(results),
    "",
    "Misses in % at equal idle cost:",
    "",
    ...equalCostTable(results),
    "",
    ...verdicts(kind, results),
    "",
  ].join("\n");
}

function settingsTable(results: readonly Result[]): readonly string[] {
  return [
    "",
    "| policy | setting | misses % | p75 over pools % | p50 wait ms | p99 wait ms | idle s | pods made for each request | missed while learning % |",
    "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ...results.map((one) => {
      const numbers = [one.missPercent.toFixed(2), one.p75MissPercent.toFixed(1), one.p50WaitMs.toFixed(0), one.p99WaitMs.toFixed(0)];
      const costs = [one.idleSeconds.toFixed(0), one.madePerRequest.toFixed(2), one.earlyMissPercent.toFixed(1)];
      return row([one.family, one.setting, ...numbers, ...costs]);
    }),
  ];
}

function equalCostTable(results: readonly Result[]): readonly string[] {
  const others = otherFamilies();
  const hulls = hullsOf(results);
  return [
    row(["idle s", `${ours}: setting`, ours, ...others]),
    `|--:|---|${"--:|".repeat(others.length + 1)}`,
    ...ofOurs(results).map(({ idleSeconds, setting, missPercent }) =>
      row([
        idleSeconds.toFixed(0),
        setting,
        missPercent.toFixed(2),
        ...others.map((family) => missesAt(idleSeconds, hulls.get(family) ?? [])?.toFixed(2) ?? "-"),
      ]),
    ),
  ];
}

function verdicts(kind: NamedLoad["kind"], results: readonly Result[]): readonly string[] {
  const hulls = hullsOf(results);
  const [steady, bursts] = [kind === "steady", kind === "bursts"];
  return [
    `- ${lostTo(results, hulls)}`,
    ...(bursts ? [`- ${againstFixed(results, hulls)}`] : []),
    ...(steady ? [`- ${againstOracle(results)}`] : []),
  ];
}

/** Compared at the cost of each of our settings that is worth choosing. */
function lostTo(results: readonly Result[], hulls: ReadonlyMap<string, readonly Point[]>): string {
  const chosen = hullOf(ofOurs(results));
  const lost = otherFamilies().flatMap((family) =>
    chosen.flatMap(({ idleSeconds, missPercent }) => {
      const theirs = missesAt(idleSeconds, hulls.get(family) ?? []) ?? Infinity;
      const isFewer = theirs < missPercent - tolerance.points && theirs < missPercent * (1 - tolerance.share);
      return isFewer ? [`${family} at ${idleSeconds.toFixed(0)} idle s (${theirs.toFixed(2)} to ${missPercent.toFixed(2)} %)`] : [];
    }),
  );
  if (lost.length === 0) return "at equal idle cost no other policy misses less: met";
  return `at equal idle cost no other policy misses less: MISSED, fewer have ${lost.join(", ")}`;
}

function againstFixed(results: readonly Result[], hulls: ReadonlyMap<string, readonly Point[]>): string {
  const factors = hullOf(ofOurs(results)).flatMap(({ idleSeconds, missPercent }) => {
    const theirs = missesAt(idleSeconds, hulls.get("fixed") ?? []);
    return theirs === undefined ? [] : [theirs / Math.max(missPercent, 0.01)];
  });
  const least = Math.min(...factors);
  return `at least 2 times fewer misses than the best fixed stock of equal cost: ${least >= 2 ? "met" : "MISSED"}, ${factors.map((one) => one.toFixed(1)).join(", ")} times by setting`;
}

/** Cost: all sandbox-seconds, in use and idle. The oracle misses nothing. */
function againstOracle(results: readonly Result[]): string {
  const all = ({ idleSeconds, busySeconds }: Result): number => idleSeconds + busySeconds;
  const best = results.find(({ family }) => family === "oracle");
  const hull = hullOf(ofOurs(results));
  const fewest = hull.at(-1)?.missPercent ?? 0;
  const [ones] = ofOurs(results);
  if (best === undefined || ones === undefined) return "";
  const ratio = (missPercent: number): string => (((idleAt(missPercent, hull) ?? 0) + ones.busySeconds) / all(best)).toFixed(2);
  const isMet = Number(ratio(Math.max(1, fewest))) <= 1.5;
  return `within 1.5 times the oracle's cost: ${isMet ? "met" : "MISSED"}, ${ratio(Math.max(1, fewest))} times with ${Math.max(1, fewest).toFixed(1)} % missed, ${ratio(fewest)} times with ${fewest.toFixed(2)} %`;
}

function hullsOf(results: readonly Result[]): ReadonlyMap<string, readonly Point[]> {
  return new Map(families.map(({ name }) => [name, hullOf(results.filter(({ family }) => family === name))]));
}

function ofOurs(results: readonly Result[]): readonly Result[] {
  return results.filter(({ family }) => family === ours);
}

function otherFamilies(): readonly string[] {
  return families.map(({ name }) => name).filter((name) => name !== ours && name !== "oracle");
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
